/// One tensor of a reference file, as its bytes. No torch, no JSON.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace titan::test {

/// Bytes of an element; throws std::runtime_error for a type that reference files do not have.
inline int64_t element_size(const std::string& dtype) {
  static const std::map<std::string, int64_t> sizes{{"F64", 8}, {"I64", 8},  {"F32", 4},
                                                    {"I32", 4}, {"BF16", 2}, {"F16", 2},
                                                    {"U8", 1},  {"BOOL", 1}};
  const auto found = sizes.find(dtype);
  if (found == sizes.end()) throw std::runtime_error("unknown dtype " + dtype);
  return found->second;
}

struct GoldenTensor {
  std::string dtype;  ///< "F32", "BF16", "F64", "U8", "I32"
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;

  int64_t numel() const {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    return count;
  }
  /// The elements as they lie; throws if their size is not that of T.
  template <class T>
  std::vector<T> as() const {
    if (static_cast<size_t>(element_size(dtype)) != sizeof(T))
      throw std::runtime_error("a " + dtype + " tensor was read as elements of another size");
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  /// F32, BF16 or F64 as double.
  std::vector<double> as_double() const {
    if (dtype == "F64") return as<double>();
    std::vector<double> values;
    values.reserve(static_cast<size_t>(numel()));
    if (dtype == "F32") {
      for (const float value : as<float>()) values.push_back(value);
      return values;
    }
    if (dtype != "BF16") throw std::runtime_error("a " + dtype + " tensor was read as numbers");
    for (const uint16_t half : as<uint16_t>()) {
      const uint32_t bits = static_cast<uint32_t>(half) << 16;
      float value;
      std::memcpy(&value, &bits, sizeof value);
      values.push_back(value);
    }
    return values;
  }
};

}  // namespace titan::test
