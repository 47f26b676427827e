/// Rotary position embedding on interleaved pairs, with the frequency scaling of Llama 3.1.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>

namespace titan::model {

/// Frequencies whose wavelength exceeds original / low are divided by `factor`, those below
/// original / high are kept, those between are blended. `factor` 1 is plain RoPE.
struct RopeScaling {
  double factor = 8.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  int64_t original_max_position_embeddings = 8192;
};

/// Cosine and sine of each position and frequency: float32 [seq_len, head_dim / 2, 2] on the CPU.
at::Tensor rope_table(int64_t seq_len, int64_t head_dim, double theta, const RopeScaling& scaling);

/// Rotates the pairs (2i, 2i+1) of x [B, S, heads, head_dim] by the angles of `rope`
/// [S, head_dim / 2, 2]; computed in float32, returned in the dtype of x.
at::Tensor apply_rope(const at::Tensor& x, const at::Tensor& rope);

}  // namespace titan::model
