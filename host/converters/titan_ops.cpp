/// Operators that plugins of tier `stable` call by name (torch_op in titan/torch.hpp).
///
/// Why: torch's stable ABI cannot pass a Scalar, so not even aten::add.Tensor can be called through
/// it. These take plain floats, record autograd and run on every device.
#include <ATen/Functions.h>
#include <torch/library.h>

#include "model/rope.h"

namespace {

at::Tensor add(const at::Tensor& a, const at::Tensor& b, double alpha) {
  return at::add(a, b, alpha);
}
at::Tensor add_scalar(const at::Tensor& a, double value) { return at::add(a, value); }
at::Tensor mul_scalar(const at::Tensor& a, double factor) { return at::mul(a, factor); }
at::Tensor clamp(const at::Tensor& a, double min, double max) { return at::clamp(a, min, max); }
at::Tensor pow_scalar(const at::Tensor& a, double exponent) { return at::pow(a, exponent); }

}  // namespace

TORCH_LIBRARY(titan, library) {
  library.def("add(Tensor a, Tensor b, float alpha) -> Tensor", add);
  library.def("add_scalar(Tensor a, float value) -> Tensor", add_scalar);
  library.def("mul_scalar(Tensor a, float factor) -> Tensor", mul_scalar);
  library.def("clamp(Tensor a, float min, float max) -> Tensor", clamp);
  library.def("apply_rope(Tensor x, Tensor rope) -> Tensor", titan::model::apply_rope);
  library.def("pow_scalar(Tensor a, float exponent) -> Tensor", pow_scalar);
}
