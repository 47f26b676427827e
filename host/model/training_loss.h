/// The loss of a decoder on a batch: what training and validation ask for.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>

#include "model/module.h"

namespace titan::model {

/// The mean cross-entropy of the decoder's predictions over `valid_labels` labels: tokens and
/// labels int64 [B, S], kIgnoreIndex counts nothing. A batch without a label that counts is a data
/// error.
///
/// Where nothing has changed the decoder and its head and nobody looks at their results, head and
/// loss are one and no tensor of logits exists (ops/linear_cross_entropy.h); otherwise the logits
/// go through cross_entropy. Both give the same numbers, to rounding.
at::Tensor training_loss(Module& decoder, const CallContext& context, const at::Tensor& tokens,
                         const at::Tensor& labels, int64_t valid_labels);

}  // namespace titan::model
