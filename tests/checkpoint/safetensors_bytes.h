/// Safetensors files made by hand, right and wrong ones.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

namespace titan::test {

/// Length field, header and data as they are given.
inline std::string safetensors_bytes(std::string_view json, std::string_view data = {}) {
  const uint64_t length = json.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes.append(json).append(data);
}

/// The golden files of the small Llama; TITAN_GOLDEN_DIR names another folder.
inline std::filesystem::path golden_llama() {
  const char* folder = std::getenv("TITAN_GOLDEN_DIR");
  return std::filesystem::path(folder ? folder : TITAN_SOURCE_DIR "/tests/golden") / "llama";
}

}  // namespace titan::test
