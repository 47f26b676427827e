/// The head of a language model and its loss in one, without a tensor of logits.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>

namespace titan::model {

/// The sum over rows of cross_entropy(x w^T, label), divided by valid_labels; rows whose label is
/// kIgnoreIndex count nothing. x [N, in] and w [V, in] of one type, which the products are taken
/// in; labels int64 [N]. Some rows at a time: never more than a few tens of millions of logits
/// exist. Gradients are computed here, where they have their logits at hand, and wait for backward:
/// float32, so that nothing is rounded on the way to a wider x or w. Gives float32 [].
///
/// `wide_x` [N, in] and `wide_w` [V, in] take the gradients; they are x and w themselves, or what
/// these were narrowed from. Backward may run once.
at::Tensor linear_cross_entropy(const at::Tensor& wide_x, const at::Tensor& wide_w,
                                const at::Tensor& x, const at::Tensor& w, const at::Tensor& labels,
                                int64_t valid_labels);

}  // namespace titan::model
