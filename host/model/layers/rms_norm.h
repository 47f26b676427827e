/// y = x / sqrt(mean(x^2) + eps) * weight, over the last dimension.
#pragma once

#include "model/module.h"

namespace titan::model {

/// The function itself, differentiable once in x and weight. Computed in float32 for narrower
/// types, rounded once at the end; the result has the dtype of x.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);

class RmsNorm : public Module {
 public:
  /// weight: [dim], ones at first.
  RmsNorm(int64_t dim, double eps, at::ScalarType dtype);

 protected:
  at::Tensor forward(const CallContext& context, const Inputs& inputs) override;
};

}  // namespace titan::model
