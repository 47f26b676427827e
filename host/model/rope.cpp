#include "model/rope.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <numbers>

namespace titan::model {

namespace {

at::Tensor llama3_scaled(const at::Tensor& frequencies, const RopeScaling& scaling) {
  const double original = static_cast<double>(scaling.original_max_position_embeddings);
  const at::Tensor wavelength = at::reciprocal(frequencies) * (2.0 * std::numbers::pi);
  const at::Tensor blend = (at::reciprocal(wavelength) * original - scaling.low_freq_factor) /
                           (scaling.high_freq_factor - scaling.low_freq_factor);
  const at::Tensor slowed = frequencies / scaling.factor;
  const at::Tensor between = (1.0 - blend) * slowed + blend * frequencies;
  const at::Tensor is_long = wavelength > original / scaling.low_freq_factor;
  const at::Tensor is_short = wavelength < original / scaling.high_freq_factor;
  return at::where(is_long, slowed, at::where(is_short, frequencies, between));
}

}  // namespace

at::Tensor rope_table(int64_t seq_len, int64_t head_dim, double theta, const RopeScaling& scaling) {
  // Every step in float32, as the reference does it: angles grow with the position, so frequencies
  // rounded elsewhere would turn late positions differently.
  const at::Tensor exponents =
      at::arange(0, head_dim, 2, at::kFloat) / static_cast<double>(head_dim);
  at::Tensor frequencies = at::reciprocal(at::pow(theta, exponents));
  switch (scaling.kind) {
    case RopeScaling::Kind::kNone: break;
    case RopeScaling::Kind::kLinear: frequencies = frequencies / scaling.factor; break;
    case RopeScaling::Kind::kLlama3: frequencies = llama3_scaled(frequencies, scaling); break;
  }
  const at::Tensor angles = at::outer(at::arange(seq_len, at::kFloat), frequencies);
  return at::stack({angles.cos(), angles.sin()}, -1);
}

at::Tensor apply_rope(const at::Tensor& x, const at::Tensor& rope) {
  const int64_t pairs = x.size(3) / 2;
  // float64 stays what it is: gradients are checked in it.
  const at::ScalarType wide = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor turned =
      at::view_as_complex(x.to(wide).reshape({x.size(0), x.size(1), x.size(2), pairs, 2})) *
      at::view_as_complex(rope).unsqueeze(-2);
  return at::view_as_real(turned).flatten(3).to(x.scalar_type());
}

}  // namespace titan::model
