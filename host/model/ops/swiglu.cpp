#include "model/ops/swiglu.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>
#include <torch/csrc/autograd/custom_function.h>

#include "base/error.h"
#include "model/kernels/swiglu.h"
#include "model/ops/on_cpu.h"

namespace titan::model {
namespace {

constexpr int64_t kElementsPerTask = 1 << 13;

at::Tensor swiglu_on_cpu(const at::Tensor& gate, const at::Tensor& up) {
  const at::Tensor y = at::empty_like(gate);
  with_element_type(gate, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    at::parallel_for(0, gate.numel(), kElementsPerTask, [&](int64_t begin, int64_t end) {
      kernels::swiglu_forward(end - begin, elements<T>(gate) + begin, elements<T>(up) + begin,
                              mutable_elements<T>(y) + begin);
    });
  });
  return y;
}

torch::autograd::variable_list swiglu_backward_on_cpu(const at::Tensor& gate, const at::Tensor& up,
                                                      const at::Tensor& grad_y) {
  const at::Tensor grad_gate = at::empty_like(gate), grad_up = at::empty_like(up);
  with_element_type(gate, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    at::parallel_for(0, gate.numel(), kElementsPerTask, [&](int64_t begin, int64_t end) {
      kernels::swiglu_backward(end - begin, elements<T>(gate) + begin, elements<T>(up) + begin,
                               elements<T>(grad_y) + begin, mutable_elements<T>(grad_gate) + begin,
                               mutable_elements<T>(grad_up) + begin);
    });
  });
  return {grad_gate, grad_up};
}

class SwigluFunction : public torch::autograd::Function<SwigluFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& gate,
                            const at::Tensor& up) {
    context->save_for_backward({gate, up});
    if (!kernels_take(gate)) return at::silu(gate).mul_(up);
    return swiglu_on_cpu(gate.contiguous(), up.contiguous());
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    if (at::GradMode::is_enabled())
      throw internal_error("swiglu has no second derivative (backward with create_graph)");
    const auto saved = context->get_saved_variables();
    const at::Tensor &gate = saved[0], &up = saved[1];
    const at::Tensor grad_y = grads[0].to(gate.scalar_type());
    if (kernels_take(gate))
      return swiglu_backward_on_cpu(gate.contiguous(), up.contiguous(), grad_y.contiguous());
    return {at::silu_backward(grad_y * up, gate), grad_y * at::silu(gate)};
  }
};

}  // namespace

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  // What a converter put in a linear's place may give another type.
  if (gate.scalar_type() != up.scalar_type() || gate.sizes() != up.sizes())
    return at::silu(gate) * up;
  return SwigluFunction::apply(gate, up);
}

}  // namespace titan::model
