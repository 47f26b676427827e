/// Root mean square norm with a weight, differentiable.
#pragma once

#include <ATen/core/TensorBody.h>

namespace titan::model {

/// x / sqrt(mean(x^2) + eps) * weight over the last dimension; x [..., dim], weight [dim]. Computed
/// in float32 (float64 for float64), in the type of x. No second derivative: an internal error.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);

}  // namespace titan::model
