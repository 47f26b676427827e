#include "model/loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ne.h>
#include <torch/csrc/autograd/custom_function.h>

#include "base/error.h"
#include "model/ops/cross_entropy_rows.h"

namespace titan::model {
namespace {

/// Gradients are computed with the loss, in the place of a copy of the logits: torch's operators
/// would keep log_softmax and fill two more tensors of this size in the backward. The numbers are
/// those of linear_cross_entropy.
class CrossEntropyFunction : public torch::autograd::Function<CrossEntropyFunction> {
 public:
  /// logits [N, V], float32; labels [N].
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& logits,
                            const at::Tensor& labels, int64_t valid_labels, bool differentiated) {
    const double share = 1.0 / static_cast<double>(valid_labels);
    double loss = 0;
    if (differentiated) {
      at::Tensor gradients = logits.detach().clone(at::MemoryFormat::Contiguous);
      loss = cross_entropy_rows(gradients, labels, static_cast<float>(share), gradients);
      context->saved_data["gradients"] = gradients;
    } else {
      loss = cross_entropy_rows(logits.contiguous(), labels);
    }
    return at::full({}, loss * static_cast<double>(static_cast<float>(share)), logits.options());
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    if (at::GradMode::is_enabled())
      throw internal_error("cross_entropy has no second derivative (create_graph)");
    const at::Tensor gradients = context->saved_data["gradients"].toTensor();
    const bool as_it_is = grads[0].is_cpu() && grads[0].item<float>() == 1.0F;
    return {as_it_is ? gradients : gradients * grads[0], at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

int64_t count_valid_labels(const at::Tensor& labels) {
  return labels.ne(kIgnoreIndex).sum().item<int64_t>();
}

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& labels, int64_t valid_labels) {
  if (valid_labels <= 0)
    throw data_error("no label of the batch counts: the loss would be 0 / 0", "training batch",
                     "look for samples whose labels are all masked (-100)");
  const at::Tensor flat = logits.reshape({-1, logits.size(-1)});
  const at::Tensor wide = flat.scalar_type() == at::kDouble ? flat : flat.to(at::kFloat);
  if (wide.scalar_type() == at::kFloat && (wide.is_cpu() || wide.is_meta()))
    return CrossEntropyFunction::apply(wide, labels.flatten(), valid_labels,
                                       at::GradMode::is_enabled() && wide.requires_grad());
  return at::cross_entropy_loss(wide, labels.flatten(), /*weight=*/{}, at::Reduction::Sum,
                                kIgnoreIndex) /
         valid_labels;
}

}  // namespace titan::model
