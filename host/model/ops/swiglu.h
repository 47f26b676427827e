/// The gate of the feed-forward network, differentiable.
#pragma once

#include <ATen/core/TensorBody.h>

namespace titan::model {

/// silu(gate) * up, element by element; gate and up of one shape and type. Backward computes
/// silu(gate) again instead of keeping it. No second derivative: an internal error.
at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);

}  // namespace titan::model
