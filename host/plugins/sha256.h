/// SHA-256 of a file's bytes: names the exact plugin in run records and checkpoints.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace titan::plugins {

/// 64 lower-case hexadecimal digits.
std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace titan::plugins
