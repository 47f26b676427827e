/// CRC-32C (Castagnoli): finds damaged files; no protection against intent.
#pragma once

#include <cstdint>
#include <string_view>

namespace titan {

/// The checksum of the bytes so far, `crc`, and these behind them. Begin with 0.
uint32_t crc32c(uint32_t crc, std::string_view bytes);

}  // namespace titan
