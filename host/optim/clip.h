/// Gradient clipping by the total L2 norm.
#pragma once

#include <ATen/core/TensorBody.h>

#include <vector>

namespace titan::optim {

/// Sum of the squares of all elements, in float64 and in an order that does not depend on the
/// number of threads. Ranks that hold different shards add theirs before taking the root.
double sum_of_squares(const std::vector<at::Tensor>& tensors);

/// Multiplies every gradient by min(1, max_norm / (norm + 1e-6)). `norm` is the total norm over all
/// ranks. Does nothing if it is not finite: whether to stop or to skip is the caller's decision.
void scale_to_norm(const std::vector<at::Tensor>& gradients, double norm, double max_norm);

/// Both, for gradients that are all here. Returns the norm before clipping.
double clip_grad_norm(const std::vector<at::Tensor>& gradients, double max_norm);

}  // namespace titan::optim
