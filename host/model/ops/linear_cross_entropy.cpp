#include "model/ops/linear_cross_entropy.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "base/error.h"
#include "model/loss.h"
#include "model/ops/cross_entropy_rows.h"
#include "model/ops/matmul.h"

namespace titan::model {
namespace {

/// Logits that exist at a time, and the fewest rows: the gradient of w is read and written once for
/// each chunk, which must not cost more than the products.
constexpr int64_t kLogits = int64_t{1} << 24, kFewestRows = 128;

struct Head {
  at::Tensor x, w, labels;
  float scale;  ///< of each row's gradient
  bool needs_x, needs_w;
};

/// What the backward pass will ask for; taken out once, so that it can become a parameter's
/// gradient without a copy.
struct Waiting : torch::CustomClassHolder {
  at::Tensor grad_x, grad_w;
};

int64_t rows_at_a_time(int64_t rows, int64_t vocabulary) {
  return std::min(rows, std::max(kFewestRows, kLogits / std::max<int64_t>(vocabulary, 1)));
}

/// Meta tensors take this way too: memory is counted as the CPU uses it.
at::Tensor loss_on_cpu(const Head& head, Waiting& waiting) {
  const int64_t rows = head.x.size(0), vocabulary = head.w.size(0);
  const int64_t step = rows_at_a_time(rows, vocabulary);
  const auto float32 = head.x.options().dtype(at::kFloat);
  const bool narrow = head.x.scalar_type() == at::kBFloat16;
  // Without products of bfloat16 in hardware the weights are widened once for all chunks.
  const bool widen = narrow && head.x.is_cpu() && !multiplies_bfloat16();
  const at::Tensor w = widen ? head.w.to(at::kFloat) : head.w;
  const Rounding rounding = widen ? Rounding::kBFloat16 : Rounding::kNone;
  at::Tensor logits = at::empty({step, vocabulary}, float32);
  at::Tensor narrow_gradients;
  if (narrow && !widen && (head.needs_x || head.needs_w))
    narrow_gradients = at::empty({step, vocabulary}, head.x.options());
  double loss = 0;
  for (int64_t first = 0; first < rows; first += step) {
    const int64_t count = std::min(step, rows - first);
    at::Tensor x = head.x.narrow(0, first, count);
    if (widen) x = x.to(at::kFloat);
    at::Tensor chunk = logits.narrow(0, 0, count);
    // Logits, their gradients and those of x have the type of x, as those of a head by itself: so a
    // converter that changes nothing about the head changes no number.
    if (narrow && !widen)
      chunk.copy_(matmul(x, w.t(), at::kBFloat16));
    else
      matmul_into(chunk, x, w.t(), false);
    const at::Tensor labels = head.labels.narrow(0, first, count);
    at::Tensor gradients = chunk;
    if (!head.needs_x && !head.needs_w) {
      loss += cross_entropy_rows(chunk, labels, rounding);
    } else {
      if (narrow_gradients.defined()) gradients = narrow_gradients.narrow(0, 0, count);
      loss += cross_entropy_rows(chunk, labels, head.scale, gradients, rounding);
    }
    if (head.needs_x) {
      at::Tensor part = waiting.grad_x.narrow(0, first, count);
      if (narrow && !widen)
        part.copy_(matmul(gradients, w, at::kBFloat16));
      else
        matmul_into(part, gradients, w, false);
    }
    if (head.needs_w) matmul_into(waiting.grad_w, gradients.t(), x, first > 0);
  }
  if (widen && head.needs_x) waiting.grad_x.copy_(waiting.grad_x.to(at::kBFloat16));
  return at::full({}, loss * static_cast<double>(head.scale), float32);
}

/// The same by torch's operators, for devices; no value is read back.
at::Tensor loss_by_operators(const Head& head, Waiting& waiting) {
  const int64_t rows = head.x.size(0);
  const int64_t step = rows_at_a_time(rows, head.w.size(0));
  at::Tensor loss = at::zeros({}, head.x.options().dtype(at::kFloat));
  for (int64_t first = 0; first < rows; first += step) {
    const int64_t count = std::min(step, rows - first);
    const at::Tensor x = head.x.narrow(0, first, count);
    const at::Tensor labels = head.labels.narrow(0, first, count).unsqueeze(1);
    const at::Tensor counts = labels.ne(kIgnoreIndex), at_label = labels.clamp_min(0);
    at::Tensor chances = at::log_softmax(at::mm(x, head.w.t()), 1, at::kFloat);
    loss.sub_((chances.gather(1, at_label) * counts).sum(), head.scale);
    if (!head.needs_x && !head.needs_w) continue;
    chances.exp_();
    chances.scatter_add_(1, at_label, at::full({1, 1}, -1.0, chances.options()).expand({count, 1}));
    const at::Tensor gradients = chances.mul_(counts * head.scale).to(x.scalar_type());
    if (head.needs_x) waiting.grad_x.narrow(0, first, count).copy_(at::mm(gradients, head.w));
    if (head.needs_w) waiting.grad_w.add_(at::mm(gradients.t(), x));
  }
  return loss;
}

class LinearCrossEntropyFunction : public torch::autograd::Function<LinearCrossEntropyFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& wide_x,
                            const at::Tensor& wide_w, const Head* head) {
    auto waiting = c10::make_intrusive<Waiting>();
    const auto float32 = head->x.options().dtype(at::kFloat);
    if (head->needs_x) waiting->grad_x = at::empty(wide_x.sizes(), float32);
    const bool here = head->x.is_cpu() || head->x.is_meta();
    if (head->needs_w)
      waiting->grad_w =
          here ? at::empty(wide_w.sizes(), float32) : at::zeros(wide_w.sizes(), float32);
    const at::Tensor loss =
        here ? loss_on_cpu(*head, *waiting) : loss_by_operators(*head, *waiting);
    context->saved_data["x_type"] = static_cast<int64_t>(wide_x.scalar_type());
    context->saved_data["w_type"] = static_cast<int64_t>(wide_w.scalar_type());
    context->saved_data["waiting"] = c10::IValue::make_capsule(waiting);
    return loss;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    if (at::GradMode::is_enabled())
      throw internal_error("linear_cross_entropy has no second derivative (create_graph)");
    const auto capsule = context->saved_data["waiting"].toCapsule();
    auto& waiting = *static_cast<Waiting*>(capsule.get());
    const at::Tensor& factor = grads[0];
    const bool as_it_is = factor.is_cpu() && factor.item<float>() == 1.0F;
    const auto taken = [&](at::Tensor& gradient, const char* type, size_t input) {
      if (!context->needs_input_grad(input)) return at::Tensor();
      if (!gradient.defined())
        throw internal_error("linear_cross_entropy: its backward ran a second time");
      at::Tensor result = std::move(gradient);
      gradient = at::Tensor();
      if (!as_it_is) result.mul_(factor);
      return result.to(static_cast<at::ScalarType>(context->saved_data[type].toInt()));
    };
    return {taken(waiting.grad_x, "x_type", 0), taken(waiting.grad_w, "w_type", 1), at::Tensor()};
  }
};

}  // namespace

at::Tensor linear_cross_entropy(const at::Tensor& wide_x, const at::Tensor& wide_w,
                                const at::Tensor& x, const at::Tensor& w, const at::Tensor& labels,
                                int64_t valid_labels) {
  const bool differentiated = at::GradMode::is_enabled();
  const Head head{x.detach(),
                  w.detach(),
                  labels,
                  static_cast<float>(1.0 / static_cast<double>(valid_labels)),
                  differentiated && wide_x.requires_grad(),
                  differentiated && wide_w.requires_grad()};
  return LinearCrossEntropyFunction::apply(wide_x, wide_w, &head);
}

}  // namespace titan::model
