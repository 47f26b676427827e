#include "model/loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/ne.h>

#include "base/error.h"

namespace titan::model {

int64_t count_valid_labels(const at::Tensor& labels) {
  return labels.ne(kIgnoreIndex).sum().item<int64_t>();
}

at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& labels, int64_t valid_labels) {
  if (valid_labels <= 0)
    throw data_error("no label of the batch counts: the loss would be 0 / 0", "training batch",
                     "look for samples whose labels are all masked (-100)");
  const at::Tensor flat = logits.reshape({-1, logits.size(-1)});
  const at::Tensor wide = flat.scalar_type() == at::kDouble ? flat : flat.to(at::kFloat);
  return at::cross_entropy_loss(wide, labels.flatten(), /*weight=*/{}, at::Reduction::Sum,
                                kIgnoreIndex) /
         valid_labels;
}

}  // namespace titan::model
