/// encode() for AVX2, 32 elements at a time: compilers narrow 32-bit lanes to bytes with twice the
/// instructions that it takes when two vectors are packed into one.
#pragma once

#include <immintrin.h>

#include "format.h"

namespace float8 {

#define FLOAT8_AVX2 __attribute__((target("avx2"), always_inline)) inline

FLOAT8_AVX2 __m256i avx2_all(int32_t bits) { return _mm256_set1_epi32(bits); }

/// The bytes of eight values in 32 bits each, without their signs; see encode(). A NaN comes out
/// as the largest number and shows in `largest`, the greatest bits of a magnitude so far.
template <Format F>
FLOAT8_AVX2 __m256i avx2_codes(__m256 value, __m256i& largest) {
  using Facts = FormatFacts<F>;
  constexpr int kDropped = 23 - static_cast<int>(Facts::kMantissaBits);
  constexpr int32_t kSmallest = (128 - static_cast<int32_t>(Facts::kBias)) << 23;
  const __m256i magnitude = _mm256_and_si256(_mm256_castps_si256(value), avx2_all(0x7fffffff));
  largest = _mm256_max_epi32(largest, magnitude);
  const __m256i clamped =
      _mm256_min_epi32(magnitude, _mm256_castps_si256(_mm256_set1_ps(Facts::kMax)));
  const __m256i held =
      _mm256_max_epi32(_mm256_and_si256(clamped, avx2_all(0x7f800000)), avx2_all(kSmallest));
  const __m256i magic = _mm256_add_epi32(held, avx2_all(kDropped << 23));
  const __m256i sum =
      _mm256_castps_si256(_mm256_add_ps(_mm256_castsi256_ps(clamped), _mm256_castsi256_ps(magic)));
  const __m256i steps = _mm256_sub_epi32(sum, magic);
  const __m256i exponent = _mm256_srli_epi32(_mm256_sub_epi32(held, avx2_all(kSmallest)), kDropped);
  return _mm256_add_epi32(steps, exponent);
}

/// 16 elements in two vectors, in an order that packing them undoes.
struct Avx2Pair {
  __m256 low, high;
};

/// x[0..16) * scales.
FLOAT8_AVX2 Avx2Pair avx2_scaled(const float* x, Avx2Pair scales) {
  return {_mm256_mul_ps(_mm256_loadu_ps(x), scales.low),
          _mm256_mul_ps(_mm256_loadu_ps(x + 8), scales.high)};
}
FLOAT8_AVX2 Avx2Pair avx2_scaled(const uint16_t* x, Avx2Pair scales) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
  const __m256i zero = _mm256_setzero_si256();
  // Interleaved within each half: elements 0-3 and 8-11, then 4-7 and 12-15.
  return {_mm256_mul_ps(_mm256_castsi256_ps(_mm256_unpacklo_epi16(zero, bits)), scales.low),
          _mm256_mul_ps(_mm256_castsi256_ps(_mm256_unpackhi_epi16(zero, bits)), scales.high)};
}

/// scales[0..16) in the order of the elements they belong to.
FLOAT8_AVX2 Avx2Pair avx2_scales(const float* scales, const float* /*x*/) {
  return {_mm256_loadu_ps(scales), _mm256_loadu_ps(scales + 8)};
}
FLOAT8_AVX2 Avx2Pair avx2_scales(const float* scales, const uint16_t* /*x*/) {
  const __m256 first = _mm256_loadu_ps(scales), second = _mm256_loadu_ps(scales + 8);
  return {_mm256_permute2f128_ps(first, second, 0x20), _mm256_permute2f128_ps(first, second, 0x31)};
}

/// Where packing leaves eight groups of four bytes, and puts them in order.
FLOAT8_AVX2 __m256i avx2_in_order(__m256i packed, const float* /*x*/) {
  return _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}
FLOAT8_AVX2 __m256i avx2_in_order(__m256i packed, const uint16_t* /*x*/) {
  return _mm256_permute4x64_epi64(packed, 0xd8);
}

/// out[i] = encode(x[i] * scale) for the first multiple of 32 elements, with scales[i] for each if
/// Each, else scales[0] for all. Returns how many that are, or 0 if one of them was NaN: then
/// `out` is to be written again.
template <Format F, bool Each, class T>
FLOAT8_AVX2 int64_t avx2_cast(const T* x, int64_t n, const float* scales, uint8_t* out) {
  const __m256 one = _mm256_set1_ps(scales[0]);
  const __m256i sign_bits = _mm256_set1_epi8(static_cast<char>(0x80));
  __m256i largest = _mm256_setzero_si256();
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const Avx2Pair a = avx2_scaled(x + i, Each ? avx2_scales(scales + i, x) : Avx2Pair{one, one});
    const Avx2Pair b =
        avx2_scaled(x + i + 16, Each ? avx2_scales(scales + i + 16, x) : Avx2Pair{one, one});
    const __m256i codes = _mm256_packus_epi16(
        _mm256_packs_epi32(avx2_codes<F>(a.low, largest), avx2_codes<F>(a.high, largest)),
        _mm256_packs_epi32(avx2_codes<F>(b.low, largest), avx2_codes<F>(b.high, largest)));
    // Packing with saturation keeps signs.
    const __m256i signs = _mm256_packs_epi16(
        _mm256_packs_epi32(_mm256_castps_si256(a.low), _mm256_castps_si256(a.high)),
        _mm256_packs_epi32(_mm256_castps_si256(b.low), _mm256_castps_si256(b.high)));
    const __m256i bytes = _mm256_or_si256(codes, _mm256_and_si256(signs, sign_bits));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), avx2_in_order(bytes, x));
  }
  const __m256i nan = _mm256_cmpgt_epi32(largest, avx2_all(0x7f800000));
  return _mm256_testz_si256(nan, nan) ? i : 0;
}

#undef FLOAT8_AVX2

}  // namespace float8
