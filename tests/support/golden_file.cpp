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

int64_t element_size(const std::string& dtype) {
  static const std::map<std::string, int64_t> sizes{{"F64", 8}, {"I64", 8}, {"F32", 4}, {"I32", 4},
                                                    {"BF16", 2}, {"F16", 2}, {"U8", 1}, {"BOOL", 1}};
  const auto found = sizes.find(dtype);
  if (found == sizes.end()) throw std::runtime_error("unknown dtype " + dtype);
  return found->second;
}

}  // namespace

std::string golden_path(const std::string& relative) {
  const char* folder = std::getenv("TITAN_GOLDEN_DIR");
  return (folder && *folder ? std::string(folder) : std::string(TITAN_SOURCE_DIR "/tests/golden")) + "/" + relative;
}

nlohmann::json golden_json(const std::string& relative) {
  const std::vector<char> text = read_file(golden_path(relative));
  return nlohmann::json::parse(text.begin(), text.end());
}

int64_t GoldenTensor::numel() const {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

void GoldenTensor::copy_to(void* out, size_t size) const {
  if (static_cast<size_t>(element_size(dtype)) != size)
    throw std::runtime_error("a " + dtype + " tensor was read as elements of another size");
  std::memcpy(out, bytes.data(), bytes.size());
}

std::vector<double> GoldenTensor::as_double() const {
  std::vector<double> values;
  values.reserve(static_cast<size_t>(numel()));
  if (dtype == "F64") return as<double>();
  if (dtype == "F32") {
    for (const float value : as<float>()) values.push_back(value);
    return values;
  }
  if (dtype == "BF16") {
    for (const uint16_t half : as<uint16_t>()) {
      const uint32_t bits = static_cast<uint32_t>(half) << 16;
      float value;
      std::memcpy(&value, &bits, sizeof value);
      values.push_back(value);
    }
    return values;
  }
  throw std::runtime_error("a " + dtype + " tensor was read as numbers");
}

GoldenFile::GoldenFile(const std::string& relative) : path_(golden_path(relative)) {
  const std::vector<char> file = read_file(path_);
  uint64_t header_size = 0;
  if (file.size() < sizeof header_size) throw std::runtime_error(path_ + " is no safetensors file");
  std::memcpy(&header_size, file.data(), sizeof header_size);
  if (header_size > file.size() - sizeof header_size) throw std::runtime_error(path_ + ": header is cut off");
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
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_size || offsets[1] - offsets[0] != expected)
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
