/// silu(gate) * up and its gradients on the CPU in float32, each in one pass over memory.
///
/// torch's autograd makes two passes forward and three backward and keeps four tensors of this
/// size; these keep the one matrix product they start from. The loops have no branches, so
/// compilers vectorise them.
#pragma once

#include <cstdint>
#include <cstring>

/// One file serves every x86-64: the loader picks the widest vectors that the processor has.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define SWIGLU_CLONES __attribute__((target_clones("avx512f", "arch=x86-64-v3", "default")))
#else
#define SWIGLU_CLONES
#endif

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize( \
    "O3", "no-trapping-math")  // else comparisons count as branches, and nothing is vectorised
#endif

namespace swiglu {

/// 1 / (1 + e^-x) to about 2 ulp. e^t = 2^n e^r with n = round(t / ln 2) and |r| <= ln 2 / 2, where
/// a polynomial of degree 6 is exact to float rounding (coefficients: Cephes, expf). NaN stays NaN.
inline __attribute__((always_inline)) float sigmoid(float x) {
  float t = -x;
  t = t > 88.0f ? 88.0f : t;  // in this order NaN passes
  t = t < -87.0f ? -87.0f : t;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves n in the low bits
  const float shifted = t * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float r = (t - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  uint32_t bits = 0;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 127u) << 23;  // 2^n; what kRound put above the low bits is shifted out
  float scale = 0;
  std::memcpy(&scale, &bits, sizeof scale);
  return 1.0f / (1.0f + p * scale);
}

/// Rows [begin, end) of `both` [tokens, 2 * hidden] (gate, then up) into `product` [tokens,
/// hidden].
SWIGLU_CLONES inline void forward(const float* __restrict both, float* __restrict product,
                                  int64_t hidden, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const float* gate = both + row * 2 * hidden;
    const float* up = gate + hidden;
    float* out = product + row * hidden;
    for (int64_t i = 0; i < hidden; ++i) out[i] = gate[i] * sigmoid(gate[i]) * up[i];
  }
}

/// From the gradient of the product [tokens, hidden] the gradient of `both`, and the product once
/// more: that of w2's gradient, which so need not be kept. Writes the product over its gradient.
SWIGLU_CLONES inline void backward(const float* __restrict both,
                                   float* __restrict grad_then_product, float* __restrict grad_both,
                                   int64_t hidden, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const float* gate = both + row * 2 * hidden;
    const float* up = gate + hidden;
    float* grad = grad_then_product + row * hidden;
    float* grad_gate = grad_both + row * 2 * hidden;
    float* grad_up = grad_gate + hidden;
    for (int64_t i = 0; i < hidden; ++i) {
      const float s = sigmoid(gate[i]);
      const float silu = gate[i] * s;
      const float g = grad[i];
      grad_up[i] = g * silu;
      grad_gate[i] = g * up[i] * (s + silu * (1.0f - s));
      grad[i] = silu * up[i];
    }
  }
}

}  // namespace swiglu

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
