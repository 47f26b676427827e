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
  return at::linear(inputs[0], weight.tensor);
}

}  // namespace titan::model
