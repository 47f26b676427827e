/// From the largest magnitude of a tensor to the factor that fits it into a format.
#pragma once

#include "format.h"

namespace float8 {

/// max / max(amax, 1e-12), rounded once to float32. An infinite amax gives 0 and a NaN gives NaN,
/// so that a tensor with such an element comes out as NaN everywhere: overflow must not be hidden.
/// Why no float64: the quotient of two float32 numbers rounds to the same float32 either way; only
/// the floor of 1e-12 is no float32 number, so its quotient is a constant.
template <Format F>
TITAN_HD float scale_of(float amax) {
  constexpr float kFloor = 1e-12F;
  constexpr float kLargestScale =
      static_cast<float>(static_cast<double>(FormatFacts<F>::kMax) / 1e-12);
#if defined(__CUDA_ARCH__)
  return amax <= kFloor ? kLargestScale : __fdiv_rn(FormatFacts<F>::kMax, amax);
#else
  return amax <= kFloor ? kLargestScale : FormatFacts<F>::kMax / amax;
#endif
}

/// Rounded down to a power of two: what stays when the mantissa is cleared. Zero, infinity and NaN
/// stay what they are. Why not exp2(floor(log2(s))): log2 of a number just below a power of two
/// rounds up to it.
TITAN_HD float power_of_two_below(float scale) {
  const uint32_t bits = bits_of(scale);
  return (bits & 0x7f800000U) == 0x7f800000U ? scale : float_of(bits & 0xff800000U);
}

/// The e8m0 exponent of a block: that of amax / max, rounded up so that nothing saturates (cuBLAS'
/// rule for VEC32_UE8M0). 255, which stands for NaN, if the block has an infinity or a NaN.
template <Format F>
TITAN_HD uint32_t e8m0_of(float amax) {
#if defined(__CUDA_ARCH__)
  const uint32_t bits = bits_of(__fdiv_rn(amax, FormatFacts<F>::kMax));
#else
  const uint32_t bits = bits_of(amax / FormatFacts<F>::kMax);
#endif
  const uint32_t exponent = bits >> 23 & 0xffU, mantissa = bits & 0x7fffffU;
  if (exponent == 255U) return 255U;
  // Of a subnormal the value is mantissa * 2^-149, and the smallest e8m0 is 2^-127 = 2^22 of those.
  const bool up = exponent == 0 ? mantissa > 0x400000U : mantissa != 0 && exponent < 254U;
  return exponent + (up ? 1U : 0U);
}

/// 2^(127 - e): what a block with exponent e is multiplied by. e = 0 gives 2^127, e = 254 the
/// subnormal 2^-127, e = 255 NaN.
TITAN_HD float scale_of_e8m0(uint32_t e) {
  if (e == 255U) return float_of(0x7fc00000U);
  return e == 254U ? float_of(0x00400000U) : float_of((254U - e) << 23);
}

/// What a product of quantised operands is multiplied by to undo the scale.
TITAN_HD float reciprocal(float scale) {
#if defined(__CUDA_ARCH__)
  return __frcp_rn(scale);
#else
  return 1.0F / scale;
#endif
}

}  // namespace float8
