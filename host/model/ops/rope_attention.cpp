#include "model/ops/rope_attention.h"

#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <tuple>

#include "base/error.h"
#include "model/kernels/attention.h"
#include "model/ops/on_cpu.h"

namespace titan::model {
namespace {

using kernels::AttentionShape;
using kernels::AttentionTask;

AttentionShape attention_shape(const at::Tensor& q, const at::Tensor& k) {
  return {q.size(0), q.size(1), q.size(2), k.size(2), q.size(3)};
}

/// With the values of each head one behind the other, as the kernels read them; only a tensor that
/// lies otherwise is copied.
at::Tensor by_heads(const at::Tensor& x) {
  return x.stride(3) == 1 && x.stride(2) == x.size(3) ? x : x.contiguous();
}

template <class T>
kernels::Heads<const T> heads(const at::Tensor& x) {
  return {elements<T>(x), x.stride(0), x.stride(1)};
}

template <class Run>
void for_tasks(const AttentionShape& shape, const Run& run) {
  at::parallel_for(0, shape.batch * shape.kv_heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      run(AttentionTask{i / shape.kv_heads, i % shape.kv_heads});
  });
}

std::tuple<at::Tensor, at::Tensor> attention_results(const at::Tensor& q) {
  return {at::empty(q.sizes(), q.options()),
          at::empty({q.size(0), q.size(2), q.size(1)}, q.options().dtype(at::kFloat))};
}

std::tuple<at::Tensor, at::Tensor> attention_forward_on_meta(const at::Tensor& q,
                                                             const at::Tensor& /*k*/,
                                                             const at::Tensor& /*v*/,
                                                             const at::Tensor& /*rope*/) {
  return attention_results(q);
}

std::tuple<at::Tensor, at::Tensor> attention_forward_on_cpu(const at::Tensor& q,
                                                            const at::Tensor& k,
                                                            const at::Tensor& v,
                                                            const at::Tensor& rope) {
  auto results = attention_results(q);
  const auto& [out, lse] = results;
  const at::Tensor q_heads = by_heads(q), k_heads = by_heads(k), v_heads = by_heads(v);
  const at::Tensor turns = rope.contiguous();
  const AttentionShape shape = attention_shape(q, k);
  with_element_type(q, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    for_tasks(shape, [&](AttentionTask task) {
      kernels::attention_forward<T>(shape, task, heads<T>(q_heads), heads<T>(k_heads),
                                    heads<T>(v_heads), elements<float>(turns),
                                    mutable_elements<T>(out), mutable_elements<float>(lse));
    });
  });
  return results;
}

struct AttentionGradients {
  explicit AttentionGradients(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v)
      : q(at::empty(q.sizes(), q.options())),
        k(at::empty(k.sizes(), k.options())),
        v(at::empty(v.sizes(), v.options())) {}
  at::Tensor q, k, v;
};

AttentionGradients attention_gradients(const at::Tensor& q, const at::Tensor& k,
                                       const at::Tensor& v, const at::Tensor& rope,
                                       const at::Tensor& out, const at::Tensor& lse,
                                       const at::Tensor& grad_out) {
  AttentionGradients result(q, k, v);
  if (q.is_meta()) return result;
  const at::Tensor q_heads = by_heads(q), k_heads = by_heads(k), v_heads = by_heads(v);
  const at::Tensor turns = rope.contiguous(), grad = grad_out.to(q.scalar_type()).contiguous();
  const AttentionShape shape = attention_shape(q, k);
  with_element_type(q, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    for_tasks(shape, [&](AttentionTask task) {
      kernels::attention_backward<T>(shape, task, heads<T>(q_heads), heads<T>(k_heads),
                                     heads<T>(v_heads), elements<float>(turns), elements<T>(out),
                                     elements<float>(lse), elements<T>(grad),
                                     mutable_elements<T>(result.q), mutable_elements<T>(result.k),
                                     mutable_elements<T>(result.v));
    });
  });
  return result;
}

using AttentionForward = std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, const at::Tensor&,
                                                            const at::Tensor&, const at::Tensor&);

/// An operator of torch's dispatcher, so that profilers see it and activation checkpointing can
/// keep its result (op_tape.h).
TORCH_LIBRARY_FRAGMENT(titan, library) {
  library.def("rope_attention(Tensor q, Tensor k, Tensor v, Tensor rope) -> (Tensor, Tensor)");
}
TORCH_LIBRARY_IMPL(titan, CPU, library) {
  library.impl("rope_attention", &attention_forward_on_cpu);
}
TORCH_LIBRARY_IMPL(titan, Meta, library) {
  library.impl("rope_attention", &attention_forward_on_meta);
}

class RopeAttentionFunction : public torch::autograd::Function<RopeAttentionFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& q,
                            const at::Tensor& k, const at::Tensor& v, const at::Tensor& rope) {
    static const auto op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("titan::rope_attention", "")
                               .typed<AttentionForward>();
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const auto [out, lse] = op.call(q, k, v, rope);
    context->save_for_backward({q, k, v, rope, out, lse});
    return out;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    if (at::GradMode::is_enabled())
      throw internal_error("rope_attention has no second derivative (backward with create_graph)");
    const auto saved = context->get_saved_variables();
    const AttentionGradients result =
        attention_gradients(saved[0], saved[1], saved[2], saved[3], saved[4], saved[5], grads[0]);
    return {result.q, result.k, result.v, at::Tensor()};
  }
};

}  // namespace

bool rope_attention_takes(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const bool known = q.scalar_type() == at::kFloat || q.scalar_type() == at::kBFloat16;
  return known && (q.is_cpu() || q.is_meta()) && k.scalar_type() == q.scalar_type() &&
         v.scalar_type() == q.scalar_type() && q.size(3) % 2 == 0 && q.size(1) == k.size(1);
}

at::Tensor rope_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const at::Tensor& rope) {
  return RopeAttentionFunction::apply(q, k, v, rope);
}

}  // namespace titan::model
