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
  constexpr float kLargestScale = static_cast<float>(static_cast<double>(FormatFacts<F>::kMax) / 1e-12);
#if defined(__CUDA_ARCH__)
  return amax <= kFloor ? kLargestScale : __fdiv_rn(FormatFacts<F>::kMax, amax);
#else
  return amax <= kFloor ? kLargestScale : FormatFacts<F>::kMax / amax;
#endif
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
