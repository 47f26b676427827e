/// Gradient clipping by the total L2 norm.
#pragma once

#include <ATen/core/TensorBody.h>

#include <vector>

namespace titan::optim {

/// Sum of the squares of all elements, in float64 and in an order that does not depend on the
/// number of threads. Ranks that hold different shards add theirs before taking the root.
double sum_of_squares(const std::vector<at::Tensor>& tensors);

/// What every gradient is multiplied by: min(1, max_norm / (norm + 1e-6)). `norm` is the total norm
/// over all ranks. 1 if it is not finite: whether to stop or to skip is the caller's decision.
double clip_coefficient(double norm, double max_norm);

/// Both, and the multiplication, for gradients that are all here; where a step follows at once,
/// Optimizer::step() multiplies in passing. Returns the norm before clipping.
double clip_grad_norm(const std::vector<at::Tensor>& gradients, double max_norm);

}  // namespace titan::optim
