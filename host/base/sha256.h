/// SHA-256 of a file's bytes: names the exact plugin or tokenizer in what was made with it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace titan {

/// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace titan
