/// Rotary position embedding on interleaved pairs, with scaled frequencies for long contexts.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>

namespace titan::model {

/// kLlama3, the scaling of Llama 3.1: frequencies whose wavelength exceeds original / low are
/// divided by `factor`, those below original / high are kept, those between are blended. kLinear
/// (position interpolation, arXiv:2306.15595): all are divided by `factor`. kNone, or `factor` 1:
/// plain RoPE.
struct RopeScaling {
  enum class Kind { kNone, kLinear, kLlama3 };
  Kind kind = Kind::kLlama3;
  double factor = 8.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  int64_t original_max_position_embeddings = 8192;
  bool operator==(const RopeScaling&) const = default;
};

/// Cosine and sine of each position and frequency: float32 [seq_len, head_dim / 2, 2] on the CPU.
at::Tensor rope_table(int64_t seq_len, int64_t head_dim, double theta, const RopeScaling& scaling);

/// Rotates the pairs (2i, 2i+1) of x [B, S, heads, head_dim] by the angles of `rope`
/// [S, head_dim / 2, 2], or of [B, S, head_dim / 2, 2] if rows have positions of their own;
/// computed in float32, returned in the dtype of x.
at::Tensor apply_rope(const at::Tensor& x, const at::Tensor& rope);

}  // namespace titan::model
