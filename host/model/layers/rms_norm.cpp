#include "model/layers/rms_norm.h"

#include "model/ops/rms_norm.h"

namespace titan::model {

RmsNorm::RmsNorm(int64_t dim, double eps, at::ScalarType dtype) : Module("rms_norm") {
  set_attribute("dim", static_cast<double>(dim));
  set_attribute("eps", eps);
  add_parameter("weight", {dim}, dtype, InitRule::constant(1.0));
}

at::Tensor RmsNorm::forward(const CallContext&, const Inputs& inputs) {
  return rms_norm(inputs[0], parameter("weight").tensor, attributes().at("eps"));
}

}  // namespace titan::model
