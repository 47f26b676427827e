/// The two fp8 formats: rounding, encoding and decoding. One source for host and device code.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#define TITAN_HD __host__ __device__ __forceinline__
#else
#define TITAN_HD inline __attribute__((always_inline))
#endif

namespace float8 {

/// e4m3 (no infinity, largest value 448) for inputs and weights, e5m2 (57344) for gradients.
enum class Format : int32_t { kE4M3, kE5M2 };

/// Element types that can be quantised.
enum class InputType : int32_t { kFloat32, kBFloat16 };

template <Format>
struct FormatFacts;
template <>
struct FormatFacts<Format::kE4M3> {
  static constexpr float kMax = 448.0F;
  static constexpr float kMinNormal = 0.015625F;  // 2^-6
  static constexpr float kPerSubnormal = 512.0F;  // 2^9: one over the smallest subnormal
  static constexpr uint32_t kMantissaBits = 3;
  static constexpr uint32_t kBias = 7;
};
template <>
struct FormatFacts<Format::kE5M2> {
  static constexpr float kMax = 57344.0F;
  static constexpr float kMinNormal = 6.103515625e-05F;  // 2^-14
  static constexpr float kPerSubnormal = 65536.0F;       // 2^16
  static constexpr uint32_t kMantissaBits = 2;
  static constexpr uint32_t kBias = 15;
};

TITAN_HD uint32_t bits_of(float value) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(value);
#else
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
#endif
}

TITAN_HD float float_of(uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(bits);
#else
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
#endif
}

/// A product that is rounded by itself: never fused with an addition that follows.
/// Host code that includes this is compiled with -ffp-contract=off for the same reason.
TITAN_HD float multiply(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

TITAN_HD float load_float(float value) { return value; }
/// bfloat16 travels as its 16 bits.
TITAN_HD float load_float(uint16_t bits) { return float_of(static_cast<uint32_t>(bits) << 16); }

/// Nearest value of the format to |value|, ties to even, saturating; NaN stays NaN.
/// Adding 2^(e+23-mantissa) leaves room for `mantissa` bits below 2^e, so the addition itself
/// rounds; e is held at the smallest normal exponent, below which the steps no longer shrink.
template <Format F>
TITAN_HD float round_magnitude(float value) {
  using Facts = FormatFacts<F>;
  const float magnitude = float_of(bits_of(value) & 0x7fffffffU);
  const float clamped = magnitude > Facts::kMax ? Facts::kMax : magnitude;
  const uint32_t exponent = bits_of(clamped) & 0x7f800000U;
  constexpr uint32_t kSmallest = (128U - Facts::kBias) << 23;
  const uint32_t held = exponent > kSmallest ? exponent : kSmallest;
  const float magic = float_of(held + ((23U - Facts::kMantissaBits) << 23));
  return (clamped + magic) - magic;
}

/// Rounds to the format and keeps the value as float32; the sign of zero is kept.
template <Format F>
TITAN_HD float round_to_format(float value) {
  return float_of(bits_of(round_magnitude<F>(value)) | (bits_of(value) & 0x80000000U));
}

/// float32 to the format's byte; NaN becomes 0x7F or 0xFF.
/// The sum with the magic number holds the rounded value in its last bits, counted in steps of the
/// exponent: those of a byte too, so that no conversion is needed. A carry moves on to the next
/// exponent, as it should.
template <Format F>
TITAN_HD uint8_t encode(float value) {
  using Facts = FormatFacts<F>;
  constexpr uint32_t kDropped = 23U - Facts::kMantissaBits;
  constexpr int32_t kSmallest = (128 - static_cast<int32_t>(Facts::kBias)) << 23;
  constexpr int32_t kMagic = static_cast<int32_t>(kDropped << 23);
  constexpr int32_t kZero = kMagic + (kSmallest >> kDropped);
  const auto magnitude = static_cast<int32_t>(bits_of(value) & 0x7fffffffU);
  const auto largest = static_cast<int32_t>(bits_of(Facts::kMax));
  // Positive floats compare like their bits, and bits have no NaN to look out for.
  const int32_t clamped = magnitude < largest ? magnitude : largest;
  const int32_t exponent = clamped & 0x7f800000;
  const int32_t held = exponent > kSmallest ? exponent : kSmallest;
  const float sum =
      float_of(static_cast<uint32_t>(clamped)) + float_of(static_cast<uint32_t>(held + kMagic));
  const int32_t finite = static_cast<int32_t>(bits_of(sum)) - held + (held >> kDropped) - kZero;
  const uint32_t code = magnitude > 0x7f800000 ? 0x7fU : static_cast<uint32_t>(finite);
  return static_cast<uint8_t>(code | (bits_of(value) >> 24 & 0x80U));
}

/// The byte's value as float32.
template <Format F>
TITAN_HD float decode(uint8_t code) {
  using Facts = FormatFacts<F>;
  const uint32_t magnitude = code & 0x7fU;
  const uint32_t sign = static_cast<uint32_t>(code & 0x80U) << 24;
  constexpr uint32_t kFirstNormal = 1U << Facts::kMantissaBits;
  if (magnitude < kFirstNormal)
    return float_of(bits_of(static_cast<float>(magnitude) / Facts::kPerSubnormal) | sign);
  if (F == Format::kE4M3 && magnitude == 0x7fU) return float_of(0x7fc00000U | sign);
  if (F == Format::kE5M2 && magnitude >= 0x7cU)
    return float_of((magnitude == 0x7cU ? 0x7f800000U : 0x7fc00000U) | sign);
  const uint32_t bits = (magnitude << (23U - Facts::kMantissaBits)) + ((127U - Facts::kBias) << 23);
  return float_of(bits | sign);
}

}  // namespace float8
