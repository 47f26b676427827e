#include "model/ops/narrow_linear.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/linear.h>
#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "base/error.h"
#include "model/ops/matmul.h"

namespace titan::model {
namespace {

class NarrowLinearFunction : public torch::autograd::Function<NarrowLinearFunction> {
 public:
  /// `narrow_x`, `narrow_w`: the values of x and w in the type to multiply in.
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& w, const at::Tensor& narrow_x,
                            const at::Tensor& narrow_w) {
    const at::Tensor rows = narrow_x.reshape({-1, narrow_x.size(-1)});
    context->save_for_backward({rows, narrow_w});
    context->saved_data["x_type"] = static_cast<int64_t>(x.scalar_type());
    context->saved_data["w_type"] = static_cast<int64_t>(w.scalar_type());
    std::vector<int64_t> shape = x.sizes().vec();
    shape.back() = w.size(0);
    return matmul(rows, narrow_w.t(), narrow_w.scalar_type()).view(shape);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    if (at::GradMode::is_enabled())
      throw internal_error("narrow_linear has no second derivative (backward with create_graph)");
    const auto saved = context->get_saved_variables();
    const at::Tensor &rows = saved[0], &narrow_w = saved[1];
    const auto type = [&](const char* of) {
      return static_cast<at::ScalarType>(context->saved_data[of].toInt());
    };
    const at::Tensor grad = grads[0].reshape({-1, narrow_w.size(0)}).to(narrow_w.scalar_type());
    at::Tensor grad_x, grad_w;
    if (context->needs_input_grad(0)) {
      std::vector<int64_t> shape = grads[0].sizes().vec();
      shape.back() = narrow_w.size(1);
      // Rounded, as it is where a converter stands between x and this layer and gets it in this
      // type.
      grad_x = matmul(grad, narrow_w, narrow_w.scalar_type()).to(type("x_type")).view(shape);
    }
    if (context->needs_input_grad(1)) grad_w = matmul(grad.t(), rows, type("w_type"));
    return {grad_x, grad_w, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor narrow_linear(const at::Tensor& x, const Parameter& weight, MixedPrecision& precision) {
  const at::Tensor narrow_x = precision.narrow(x), narrow_w = precision.narrow(weight);
  // Types that mixed precision leaves alone (float64).
  if (narrow_x.scalar_type() != precision.type() || narrow_w.scalar_type() != precision.type())
    return at::linear(precision.cast(x), precision.cast(weight));
  return NarrowLinearFunction::apply(x, weight.tensor, narrow_x, narrow_w);
}

at::Tensor narrow_linear(const at::Tensor& x, const at::Tensor& weight) {
  return NarrowLinearFunction::apply(x, weight, x.detach(), weight.detach());
}

}  // namespace titan::model
