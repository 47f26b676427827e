/// Reference data of tests/golden, read without a library.
#pragma once

#include <map>
#include <string>

#include "json.h"
#include "support/golden_tensor.h"

namespace titan::device_check {

/// The bytes of a file below tests/golden, or below TITAN_GOLDEN_DIR if that is set. Throws a data
/// error naming it.
std::string reference_text(const std::string& relative);

/// The same as JSON.
Json reference_json(const std::string& relative);

/// All tensors of one safetensors file by name.
class ReferenceFile {
 public:
  explicit ReferenceFile(const std::string& relative);
  /// Throws a data error if there is none of that name.
  const test::GoldenTensor& operator[](const std::string& name) const;
  bool has(const std::string& name) const { return tensors_.count(name) > 0; }
  const std::map<std::string, test::GoldenTensor>& tensors() const { return tensors_; }

 private:
  std::string path_;
  std::map<std::string, test::GoldenTensor> tensors_;
};

}  // namespace titan::device_check
