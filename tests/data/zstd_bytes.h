/// Text as a Zstandard file.
#pragma once

#include <zstd.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace titan::test {

inline std::string zstd_bytes(std::string_view text) {
  std::string bytes(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress(bytes.data(), bytes.size(), text.data(), text.size(), 3);
  if (ZSTD_isError(size)) throw std::runtime_error(ZSTD_getErrorName(size));
  bytes.resize(size);
  return bytes;
}

}  // namespace titan::test
