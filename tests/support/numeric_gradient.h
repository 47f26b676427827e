/// Checks a gradient against finite differences in float64.
#pragma once

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace titan::test {

/// `function` of float64 leaves that require a gradient; its output is weighted with fixed numbers
/// so that no error in a gradient can cancel.
inline void expect_gradients_match(
    const std::function<at::Tensor(const std::vector<at::Tensor>&)>& function,
    const std::vector<at::Tensor>& leaves, double tolerance = 1e-7) {
  const auto weighted = [&] {
    const at::Tensor out = function(leaves);
    const at::Tensor weights =
        at::arange(out.numel(), at::kDouble).mul(0.7).sin().view(out.sizes());
    return out.mul(weights).sum();
  };
  weighted().backward();
  const at::NoGradGuard no_grad;
  constexpr double kDelta = 1e-5;
  for (size_t which = 0; which < leaves.size(); ++which) {
    const at::Tensor leaf = leaves[which];
    ASSERT_TRUE(leaf.grad().defined()) << "no gradient for input " << which;
    double* values = leaf.mutable_data_ptr<double>();
    const at::Tensor grad = leaf.grad().contiguous();
    for (int64_t i = 0; i < leaf.numel(); ++i) {
      const double kept = values[i];
      values[i] = kept + kDelta;
      const double above = weighted().item<double>();
      values[i] = kept - kDelta;
      const double below = weighted().item<double>();
      values[i] = kept;
      EXPECT_NEAR(grad.const_data_ptr<double>()[i], (above - below) / (2 * kDelta), tolerance)
          << "input " << which << ", element " << i;
    }
  }
}

}  // namespace titan::test
