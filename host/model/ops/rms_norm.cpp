#include "model/ops/rms_norm.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <tuple>

#include "base/error.h"
#include "model/kernels/rms_norm.h"
#include "model/ops/on_cpu.h"

namespace titan::model {
namespace {

constexpr int64_t kRowsPerTask = 32;

struct Normed {
  at::Tensor y, rstd;  ///< rstd [rows], float32 or float64
};

/// x [rows, dim], contiguous.
Normed norm_on_cpu(const at::Tensor& x, const at::Tensor& weight, double eps) {
  const int64_t rows = x.size(0), dim = x.size(1);
  Normed result{at::empty_like(x), at::empty({rows}, x.options().dtype(at::kFloat))};
  const at::Tensor wide = weight.to(at::kFloat).contiguous();
  with_element_type(x, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    at::parallel_for(0, rows, kRowsPerTask, [&](int64_t begin, int64_t end) {
      kernels::rms_norm_forward(end - begin, dim, elements<T>(x) + begin * dim,
                                elements<float>(wide), static_cast<float>(eps),
                                mutable_elements<T>(result.y) + begin * dim,
                                mutable_elements<float>(result.rstd) + begin);
    });
  });
  return result;
}

/// Gradients of x [rows, dim] and of the weight, float32; undefined what is not needed.
std::tuple<at::Tensor, at::Tensor> norm_backward_on_cpu(const at::Tensor& x,
                                                        const at::Tensor& weight,
                                                        const at::Tensor& rstd,
                                                        const at::Tensor& grad_y, bool needs_x,
                                                        bool needs_weight) {
  const int64_t rows = x.size(0), dim = x.size(1);
  // A fixed number of partial sums: the result does not depend on the number of threads.
  constexpr int64_t kParts = 16;
  const int64_t part = (rows + kParts - 1) / kParts;
  const at::Tensor wide = weight.to(at::kFloat).contiguous();
  const at::Tensor grad_x = needs_x ? at::empty_like(x) : at::Tensor();
  const at::Tensor sums = needs_weight ? at::zeros({kParts, dim}, rstd.options()) : at::Tensor();
  with_element_type(x, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    at::parallel_for(0, kParts, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i * part, count = std::min(part, rows - first);
        if (count <= 0) continue;
        kernels::rms_norm_backward(
            count, dim, elements<T>(x) + first * dim, elements<float>(wide),
            elements<float>(rstd) + first, elements<T>(grad_y) + first * dim,
            needs_x ? mutable_elements<T>(grad_x) + first * dim : nullptr,
            needs_weight ? mutable_elements<float>(sums) + i * dim : nullptr);
      }
    });
  });
  return {grad_x, needs_weight ? sums.sum(0) : at::Tensor()};
}

Normed forward_by_operators(const at::Tensor& x, const at::Tensor& weight, double eps) {
  const at::Tensor wide = x.to(x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  const at::Tensor rstd = (wide * wide).mean(-1, /*keepdim=*/true).add_(eps).rsqrt_();
  return {(wide * rstd).mul_(weight).to(x.scalar_type()), rstd.squeeze(-1)};
}

std::tuple<at::Tensor, at::Tensor> backward_by_operators(const at::Tensor& x,
                                                         const at::Tensor& weight,
                                                         const at::Tensor& rstd,
                                                         const at::Tensor& grad_y, bool needs_x,
                                                         bool needs_weight) {
  const at::Tensor grad = grad_y.to(rstd.scalar_type()), column = rstd.unsqueeze(-1);
  const at::Tensor normal = x * column;
  at::Tensor grad_x, grad_weight;
  if (needs_x) {
    const at::Tensor scaled = grad * weight;
    const at::Tensor along = (scaled * normal).mean(-1, /*keepdim=*/true);
    grad_x = (scaled - normal * along).mul_(column).to(x.scalar_type());
  }
  if (needs_weight) grad_weight = (grad * normal).sum(0);
  return {grad_x, grad_weight};
}

/// Why not at::rms_norm on the CPU: with gradients it is taken apart into a chain of operators that
/// saves several tensors of the size of x and is 4 to 8 times slower than a layer norm. This saves
/// x and one number a row.
class RmsNormFunction : public torch::autograd::Function<RmsNormFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& weight, double eps) {
    const at::Tensor rows = x.contiguous().view({-1, x.size(-1)});
    const Normed normed =
        kernels_take(x) ? norm_on_cpu(rows, weight, eps) : forward_by_operators(rows, weight, eps);
    context->save_for_backward({rows, weight, normed.rstd});
    return normed.y.view(x.sizes());
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    // rstd is saved as a constant, so second derivatives through here would be silently wrong.
    if (at::GradMode::is_enabled())
      throw internal_error("rms_norm has no second derivative (backward with create_graph)");
    const auto saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &rstd = saved[2];
    const bool needs_x = context->needs_input_grad(0), needs_weight = context->needs_input_grad(1);
    const at::Tensor grad_y = grads[0].contiguous().view(x.sizes());
    auto [grad_x, grad_weight] =
        kernels_take(x) ? norm_backward_on_cpu(x, weight, rstd, grad_y.to(x.scalar_type()), needs_x,
                                               needs_weight)
                        : backward_by_operators(x, weight, rstd, grad_y, needs_x, needs_weight);
    if (needs_x) grad_x = grad_x.view(grads[0].sizes());
    if (needs_weight) grad_weight = grad_weight.to(weight.scalar_type());
    return {grad_x, grad_weight, at::Tensor()};
  }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  // One fused kernel there, backward included.
  if (x.is_cuda()) return at::rms_norm(x, weight.sizes(), weight, eps);
  return RmsNormFunction::apply(x, weight, eps);
}

}  // namespace titan::model
