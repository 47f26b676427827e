#include "model/layers/rms_norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/rms_norm.h>
#include <torch/csrc/autograd/custom_function.h>

#include "base/error.h"

namespace titan::model {
namespace {

at::ScalarType compute_type(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

/// Why not at::rms_norm on the CPU: with gradients it is taken apart into a chain of operators that
/// saves several tensors of the size of x and is 4 to 8 times slower than a layer norm. This saves
/// x and one number a row.
class RmsNormFunction : public torch::autograd::Function<RmsNormFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& weight, double eps) {
    const at::Tensor wide = x.to(compute_type(x));
    const at::Tensor rstd = (wide * wide).mean(-1, /*keepdim=*/true).add_(eps).rsqrt_();
    context->save_for_backward({x, weight, rstd});
    return (wide * rstd).mul_(weight).to(x.scalar_type());
  }

  /// With n = x * rstd (the normalised x) and u = grad * weight:
  /// dx = rstd * (u - n * mean(u * n)), dweight = sum over rows of grad * n.
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    // rstd is saved as a constant, so second derivatives through here would be silently wrong.
    if (at::GradMode::is_enabled())
      throw internal_error("rms_norm has no second derivative (backward with create_graph)");
    const auto saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& weight = saved[1];
    const at::Tensor& rstd = saved[2];
    const at::Tensor grad = grads[0].to(rstd.scalar_type());
    const at::Tensor normal = x * rstd;
    at::Tensor grad_x, grad_weight;
    if (context->needs_input_grad(0)) {
      const at::Tensor scaled = grad * weight;
      const at::Tensor along = (scaled * normal).mean(-1, /*keepdim=*/true);
      grad_x = (scaled - normal * along).mul_(rstd).to(x.scalar_type());
    }
    if (context->needs_input_grad(1))
      grad_weight = (grad * normal).reshape({-1, weight.size(0)}).sum(0).to(weight.scalar_type());
    return {grad_x, grad_weight, at::Tensor()};
  }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  // One fused kernel there, backward included.
  if (x.is_cuda()) return at::rms_norm(x, weight.sizes(), weight, eps);
  return RmsNormFunction::apply(x, weight, eps);
}

RmsNorm::RmsNorm(int64_t dim, double eps, at::ScalarType dtype) : Module("rms_norm") {
  set_attribute("dim", static_cast<double>(dim));
  set_attribute("eps", eps);
  add_parameter("weight", {dim}, dtype, InitRule::constant(1.0));
}

at::Tensor RmsNorm::forward(const CallContext&, const Inputs& inputs) {
  return rms_norm(inputs[0], parameter("weight").tensor, attributes().at("eps"));
}

}  // namespace titan::model
