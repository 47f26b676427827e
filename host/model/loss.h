/// The training loss.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>

namespace titan::model {

/// Labels with this value take no part in the loss.
inline constexpr int64_t kIgnoreIndex = -100;

/// Number of labels that count.
int64_t count_valid_labels(const at::Tensor& labels);

/// Sum of the cross entropies of this micro-batch divided by `valid_labels`, the number of labels
/// that count in the whole global batch (all micro-batches, all ranks): the sum of these losses is
/// the mean over the batch, however it was cut. Computed in float32 (float64 logits stay so).
/// logits: [.., vocab]; labels: int64 [..]. `valid_labels` must be positive (a data error).
at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& labels, int64_t valid_labels);

}  // namespace titan::model
