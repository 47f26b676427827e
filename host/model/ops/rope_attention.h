/// Causal attention of queries and keys that are yet to be rotated, differentiable, on the CPU.
#pragma once

#include <ATen/core/TensorBody.h>

namespace titan::model {

/// Whether rope_attention takes these: float32 or bfloat16, one type for all, an even head_dim, on
/// the CPU (or on meta, where it has a shape). Devices have kernels of their own for the rotated.
bool rope_attention_takes(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v);

/// q [B, S, H, D]; k and v [B, S, K, D], K a divisor of H; rope [S, D/2, 2], float32 (see rope.h).
/// Gives [B, S, H, D], contiguous: softmax(rotated q rotated k^T / sqrt(D)) v over the tokens up to
/// each token's own. It is the operator titan::rope_attention; no second derivative.
at::Tensor rope_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const at::Tensor& rope);

}  // namespace titan::model
