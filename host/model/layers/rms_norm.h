/// y = x / sqrt(mean(x^2) + eps) * weight, over the last dimension.
#pragma once

#include "model/module.h"

namespace titan::model {

class RmsNorm : public Module {
 public:
  /// weight: [dim], ones at first.
  RmsNorm(int64_t dim, double eps, at::ScalarType dtype);

 protected:
  at::Tensor forward(const CallContext& context, const Inputs& inputs) override;
};

}  // namespace titan::model
