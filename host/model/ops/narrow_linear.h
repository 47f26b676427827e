/// A linear layer in mixed precision, differentiable.
#pragma once

#include <ATen/core/TensorBody.h>

#include "model/mixed_precision.h"

namespace titan::model {

/// x [..., in] times the transposed weight [out, in], multiplied in precision.type() and given in
/// it. The gradient of x has the type of x, that of the weight the weight's: both come out of the
/// product in float32 and are rounded to no narrower type on the way. No second derivative.
at::Tensor narrow_linear(const at::Tensor& x, const Parameter& weight, MixedPrecision& precision);

/// The same for x and weight that are bfloat16 by themselves.
at::Tensor narrow_linear(const at::Tensor& x, const at::Tensor& weight);

}  // namespace titan::model
