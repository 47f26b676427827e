/// bfloat16 as the CPU kernels see it: 16 bits, the upper half of a float32.
#pragma once

#include <cstdint>
#include <cstring>

namespace titan::model::kernels {

struct Bf16 {
  uint16_t bits;
};

inline float widened(Bf16 value) {
  const uint32_t bits = static_cast<uint32_t>(value.bits) << 16;
  float result = 0;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

/// Rounds to nearest, ties to even; a NaN stays one.
inline Bf16 narrowed(float value) {
  if (value != value) return {0x7fc0};
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return {static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
}

}  // namespace titan::model::kernels
