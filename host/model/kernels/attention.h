/// Causal attention with rotary positions on the CPU, forward and backward, without a matrix of
/// scores in memory.
///
/// With q' and k' the rotated queries and keys, s = q' k'^T / sqrt(D) over the keys up to the
/// query's own position, p = softmax(s), o = p v. Backward (Dao et al., "FlashAttention-2", section
/// 3): dv = p^T do, dp = do v^T, ds = p (dp - rowsum(do o)), dq' = ds k' / sqrt(D), dk' = ds^T q' /
/// sqrt(D). Everything is added up in float32, whatever the tensors are stored in.
#pragma once

#include <cstdint>

#include "model/kernels/bfloat16_bits.h"

namespace titan::model::kernels {

/// A tensor [batch, sequence, heads, head_dim] whose heads are contiguous; strides in elements.
template <class T>
struct Heads {
  T* data;
  int64_t batch_stride, token_stride;
};

struct AttentionShape {
  int64_t batch, length, heads, kv_heads, head_dim;  ///< head_dim even; kv_heads divides heads
};

/// The heads of one key / value head of one sequence: the unit of parallel work.
struct AttentionTask {
  int64_t sequence, kv_head;
};

/// rope: [length, head_dim / 2, 2], cosine and sine, applied to pairs (2i, 2i + 1).
/// out [B, S, H, D] contiguous; lse [B, H, S]: log of the sum of exp(s).
template <class T>
void attention_forward(const AttentionShape& shape, AttentionTask task, Heads<const T> q,
                       Heads<const T> k, Heads<const T> v, const float* rope, T* out, float* lse);

/// Gradients of q, k and v, contiguous in their own shapes. `out`, `lse`: what forward gave.
template <class T>
void attention_backward(const AttentionShape& shape, AttentionTask task, Heads<const T> q,
                        Heads<const T> k, Heads<const T> v, const float* rope, const T* out,
                        const float* lse, const T* grad_out, T* grad_q, T* grad_k, T* grad_v);

}  // namespace titan::model::kernels
