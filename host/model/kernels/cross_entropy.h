/// Cross-entropy of one row of logits on the CPU, and its gradient in the row's place.
#pragma once

#include <cstdint>

#include "model/kernels/bfloat16_bits.h"

namespace titan::model::kernels {

/// logsumexp(logits) - logits[label]; logits [n] are left as they are.
double cross_entropy_loss(int64_t n, const float* logits, int64_t label);

/// The same; gradient [n] becomes (softmax(logits) - onehot(label)) * scale, and may lie where
/// `logits` lie. `logits` are destroyed.
double cross_entropy_gradient(int64_t n, float* logits, int64_t label, float scale,
                              float* gradient);
double cross_entropy_gradient(int64_t n, float* logits, int64_t label, float scale, Bf16* gradient);

/// Each value to the nearest bfloat16, ties to even; a NaN stays one.
void round_to_bfloat16(int64_t n, float* values);

}  // namespace titan::model::kernels
