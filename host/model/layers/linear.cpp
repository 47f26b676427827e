#include "model/layers/linear.h"

#include <ATen/ops/linear.h>

#include <utility>

#include "model/mixed_precision.h"
#include "model/ops/narrow_linear.h"

namespace titan::model {

Linear::Linear(int64_t in_features, int64_t out_features, at::ScalarType dtype, InitRule init)
    : Module("linear") {
  set_attribute("in_features", static_cast<double>(in_features));
  set_attribute("out_features", static_cast<double>(out_features));
  add_parameter("weight", {out_features, in_features}, dtype, std::move(init));
}

at::Tensor Linear::forward(const CallContext& context, const Inputs& inputs) {
  const Parameter& weight = parameter("weight");
  if (context.mixed_precision) return narrow_linear(inputs[0], weight, *context.mixed_precision);
  const at::Tensor& x = inputs[0];
  // torch's own is many times slower than float32 where the CPU has no instructions for it.
  if (x.is_cpu() && x.scalar_type() == at::kBFloat16 &&
      weight.tensor.scalar_type() == at::kBFloat16)
    return narrow_linear(x, weight.tensor);
  return at::linear(x, weight.tensor);
}

}  // namespace titan::model
