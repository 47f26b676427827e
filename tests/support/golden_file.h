/// Reads reference data: safetensors and JSON files of tests/golden. No torch.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "support/golden_tensor.h"

namespace titan::test {

/// Path of a reference file such as "float8/quant_cases.json", below TITAN_GOLDEN_DIR if that is
/// set and below tests/golden otherwise.
std::string golden_path(const std::string& relative);

/// Throws std::runtime_error naming the file if it is missing or malformed.
nlohmann::json golden_json(const std::string& relative);

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
