#include "support/golden_file.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace titan::test {
namespace {

std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::string golden_path(const std::string& relative) {
  const char* folder = std::getenv("TITAN_GOLDEN_DIR");
  return (folder && *folder ? std::string(folder) : std::string(TITAN_SOURCE_DIR "/tests/golden")) +
         "/" + relative;
}

nlohmann::json golden_json(const std::string& relative) {
  const std::vector<char> text = read_file(golden_path(relative));
  return nlohmann::json::parse(text.begin(), text.end());
}

GoldenFile::GoldenFile(const std::string& relative) : path_(golden_path(relative)) {
  const std::vector<char> file = read_file(path_);
  uint64_t header_size = 0;
  if (file.size() < sizeof header_size) throw std::runtime_error(path_ + " is no safetensors file");
  std::memcpy(&header_size, file.data(), sizeof header_size);
  if (header_size > file.size() - sizeof header_size)
    throw std::runtime_error(path_ + ": header is cut off");
  const char* begin = file.data() + sizeof header_size;
  const auto header = nlohmann::json::parse(begin, begin + header_size);
  const size_t data_size = file.size() - sizeof header_size - header_size;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    GoldenTensor tensor;
    tensor.dtype = entry.at("dtype").get<std::string>();
    tensor.shape = entry.at("shape").get<std::vector<int64_t>>();
    const auto offsets = entry.at("data_offsets").get<std::vector<uint64_t>>();
    const auto expected = static_cast<uint64_t>(tensor.numel() * element_size(tensor.dtype));
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_size ||
        offsets[1] - offsets[0] != expected)
      throw std::runtime_error(path_ + ": '" + name + "' has offsets that do not fit its shape");
    const auto* first = reinterpret_cast<const uint8_t*>(begin + header_size);
    tensor.bytes.assign(first + offsets[0], first + offsets[1]);
    tensors_.emplace(name, std::move(tensor));
  }
}

const GoldenTensor& GoldenFile::operator[](const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw std::runtime_error(path_ + " has no tensor '" + name + "'");
  return found->second;
}

}  // namespace titan::test
