/// The loss of rows of logits on the CPU, and its gradients, without an operator in between.
#pragma once

#include <ATen/core/TensorBody.h>

namespace titan::model {

/// What the rows' numbers are rounded to on the way.
enum class Rounding {
  kNone,
  /// Logits, before anything is done with them, and float32 gradients: as if they had been tensors
  /// of bfloat16.
  kBFloat16,
};

/// The sum over rows of logsumexp(logits) - logits[label]: logits [N, V], float32, contiguous;
/// labels int64 [N], kIgnoreIndex counts nothing, one beyond the vocabulary is a data error. Added
/// up in float64, in an order that does not depend on the number of threads. On meta: nothing, 0.
double cross_entropy_rows(const at::Tensor& logits, const at::Tensor& labels,
                          Rounding rounding = Rounding::kNone);

/// The same; gradients [N, V] become (softmax(logits) - onehot(label)) * scale, zeros for a row
/// that does not count. They are float32 and lie where the logits lie (are the same tensor), or
/// bfloat16 and lie elsewhere. The logits are destroyed.
double cross_entropy_rows(at::Tensor& logits, const at::Tensor& labels, float scale,
                          at::Tensor& gradients, Rounding rounding = Rounding::kNone);

}  // namespace titan::model
