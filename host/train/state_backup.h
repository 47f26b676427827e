/// Buffers as they were before a step.
#pragma once

#include <ATen/core/TensorBody.h>

#include <utility>
#include <vector>

#include "model/module.h"

namespace titan::train {

/// Copies all buffers of the model, which are small: statistics and counts.
class StateBackup {
 public:
  StateBackup() = default;  ///< of nothing
  explicit StateBackup(model::Module& root);
  /// Copies the values back.
  void restore() const;

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> copies_;  ///< the live one and its values
};

}  // namespace titan::train
