/// Reads reference data: safetensors and JSON files of tests/golden. No torch.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace titan::test {

/// Path of a reference file such as "float8/quant_cases.json", below TITAN_GOLDEN_DIR if that is set
/// and below tests/golden otherwise.
std::string golden_path(const std::string& relative);

/// Throws std::runtime_error naming the file if it is missing or malformed.
nlohmann::json golden_json(const std::string& relative);

struct GoldenTensor {
  std::string dtype;  ///< "F32", "BF16", "F64", "U8", "I32"
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;

  int64_t numel() const;
  /// The elements as they lie; throws if their size is not that of T.
  template <class T>
  std::vector<T> as() const {
    std::vector<T> values(bytes.size() / sizeof(T));
    copy_to(values.data(), sizeof(T));
    return values;
  }
  /// F32, BF16 or F64 as double.
  std::vector<double> as_double() const;

 private:
  void copy_to(void* out, size_t element_size) const;
};

/// All tensors of one safetensors file by name.
class GoldenFile {
 public:
  explicit GoldenFile(const std::string& relative);
  /// Throws if there is none of that name.
  const GoldenTensor& operator[](const std::string& name) const;
  const std::map<std::string, GoldenTensor>& tensors() const { return tensors_; }

 private:
  std::string path_;
  std::map<std::string, GoldenTensor> tensors_;
};

}  // namespace titan::test
