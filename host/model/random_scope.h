/// Keeps the random generators of torch for code that must not disturb them, or must repeat them.
#pragma once

#include <ATen/core/TensorBody.h>

#include <utility>
#include <vector>

namespace titan::model {

/// States of the generators that a module on one device may draw from: the CPU's and the device's.
class RandomStates {
 public:
  static RandomStates current(at::Device device);
  void restore() const;

 private:
  void keep(at::Device device);
  std::vector<std::pair<at::Device, at::Tensor>> states_;
};

/// While it lives, draws leave no trace: at its end the generators are where they were before.
class RandomScope {
 public:
  explicit RandomScope(at::Device device) : before_(RandomStates::current(device)) {}
  /// Starts with the generators as they were `then`.
  RandomScope(at::Device device, const RandomStates& then) : RandomScope(device) { then.restore(); }
  ~RandomScope() { before_.restore(); }
  RandomScope(const RandomScope&) = delete;
  RandomScope& operator=(const RandomScope&) = delete;

 private:
  RandomStates before_;
};

}  // namespace titan::model
