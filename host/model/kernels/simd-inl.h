/// What the CPU kernels share, compiled once for each instruction set: loads and stores of float32
/// and bfloat16, exp, and a small matrix product. Include it after <hwy/foreach_target.h>.
#include <hwy/highway.h>

#include "model/kernels/bfloat16_bits.h"

// Highway's way: the guard flips with every instruction set that the including file is compiled
// for.
#if defined(TITAN_MODEL_KERNELS_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TITAN_MODEL_KERNELS_SIMD_INL_H
#undef TITAN_MODEL_KERNELS_SIMD_INL_H
#else
#define TITAN_MODEL_KERNELS_SIMD_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace titan::model::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<F32>;

HWY_INLINE int64_t lanes() { return static_cast<int64_t>(hn::Lanes(F32())); }
HWY_INLINE int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

HWY_INLINE V32 load(F32 d, const float* from) { return hn::LoadU(d, from); }
HWY_INLINE V32 load(F32 d, const Bf16* from) {
  const hn::Rebind<uint16_t, F32> narrow;
  const hn::RebindToUnsigned<F32> wide;
  const auto bits = hn::LoadU(narrow, reinterpret_cast<const uint16_t*>(from));
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(wide, bits)));
}

HWY_INLINE void store(F32 d, V32 value, float* to) { hn::StoreU(value, d, to); }
/// Rounds to nearest, ties to even; a NaN stays one.
HWY_INLINE void store(F32 /*d*/, V32 value, Bf16* to) {
  const hn::Rebind<uint16_t, F32> narrow;
  const hn::RebindToUnsigned<F32> wide;
  const hn::RebindToSigned<F32> wide_signed;
  const auto bits = hn::BitCast(wide, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(wide, 1));
  auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(wide, 0x7fff))));
  const auto is_nan = hn::RebindMask(wide, hn::Ne(value, value));
  rounded = hn::IfThenElse(is_nan, hn::Set(wide, 0x7fc0), rounded);
  hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(wide_signed, rounded)), narrow,
             reinterpret_cast<uint16_t*>(to));
}

HWY_INLINE float load_one(const float* from) { return *from; }
HWY_INLINE float load_one(const Bf16* from) { return widened(*from); }
HWY_INLINE void store_one(float value, float* to) { *to = value; }
HWY_INLINE void store_one(float value, Bf16* to) { *to = narrowed(value); }

/// Calls body(i, lanes) for whole vectors and tail(i) for what is left of [0, n).
template <class Body, class Tail>
HWY_INLINE void for_vectors(int64_t n, const Body& body, const Tail& tail) {
  const int64_t step = lanes();
  int64_t i = 0;
  for (; i + step <= n; i += step) body(i);
  for (; i < n; ++i) tail(i);
}

/// exp(x) for x <= 88, to 2 units in the last place; 1e-38 or less below -87. Coefficients: Cephes,
/// expf. Why not Highway's own: it makes zero of NaN, which would hide a broken input, and computes
/// what lies outside of float32's normal range too.
HWY_INLINE V32 exponential(F32 d, V32 x) {
  const hn::RebindToSigned<F32> integers;
  const V32 bounded = hn::Max(x, hn::Set(d, -87.0F));
  const V32 power = hn::Round(hn::Mul(bounded, hn::Set(d, 1.44269504F)));
  V32 rest = hn::NegMulAdd(power, hn::Set(d, 0.693359375F), bounded);
  rest = hn::NegMulAdd(power, hn::Set(d, -2.12194440e-4F), rest);
  V32 sum = hn::MulAdd(hn::Set(d, 1.9875691500e-4F), rest, hn::Set(d, 1.3981999507e-3F));
  sum = hn::MulAdd(sum, rest, hn::Set(d, 8.3334519073e-3F));
  sum = hn::MulAdd(sum, rest, hn::Set(d, 4.1665795894e-2F));
  sum = hn::MulAdd(sum, rest, hn::Set(d, 1.6666665459e-1F));
  sum = hn::MulAdd(sum, rest, hn::Set(d, 5.0000001201e-1F));
  sum = hn::MulAdd(sum, hn::Mul(rest, rest), hn::Add(rest, hn::Set(d, 1.0F)));
  // times 2^power: into the exponent
  const auto bits =
      hn::Add(hn::BitCast(integers, sum), hn::ShiftLeft<23>(hn::ConvertTo(integers, power)));
  return hn::IfThenElse(hn::Eq(x, x), hn::BitCast(d, bits), x);
}

HWY_INLINE float sum_of(V32 value) { return hn::GetLane(hn::SumOfLanes(F32(), value)); }
HWY_INLINE float max_of(V32 value) { return hn::GetLane(hn::MaxOfLanes(F32(), value)); }

/// C [M, N] = or += A [M, K] B [K, N], all float32. A(i, k) lies at a[i * a_row + k * a_col], so a
/// transposed A costs nothing; rows of B and C are contiguous. N is a multiple of lanes().
/// M rows by kColumns vectors of C stay in registers.
template <int kRows, int kColumns>
HWY_INLINE void product_tile(int64_t depth, const float* a, int64_t a_row, int64_t a_col,
                             const float* b, int64_t ldb, float* c, int64_t ldc, bool add) {
  const F32 d;
  const int64_t step = lanes();
  V32 sums[kRows][kColumns];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j)
      sums[i][j] = add ? hn::LoadU(d, c + i * ldc + j * step) : hn::Zero(d);
  for (int64_t k = 0; k < depth; ++k) {
    V32 right[kColumns];
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) right[j] = hn::LoadU(d, b + k * ldb + j * step);
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const V32 left = hn::Set(d, a[i * a_row + k * a_col]);
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j) sums[i][j] = hn::MulAdd(left, right[j], sums[i][j]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) hn::StoreU(sums[i][j], d, c + i * ldc + j * step);
}

/// Rows of C that one tile holds: as many as fill the registers.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
constexpr int kTileRows = 12;
#else
constexpr int kTileRows = 6;
#endif

template <int kRows>
HWY_INLINE void product_rows(int64_t columns, int64_t depth, const float* a, int64_t a_row,
                             int64_t a_col, const float* b, int64_t ldb, float* c, int64_t ldc,
                             bool add) {
  const int64_t step = lanes();
  int64_t j = 0;
  for (; j + 2 * step <= columns; j += 2 * step)
    product_tile<kRows, 2>(depth, a, a_row, a_col, b + j, ldb, c + j, ldc, add);
  if (j < columns) product_tile<kRows, 1>(depth, a, a_row, a_col, b + j, ldb, c + j, ldc, add);
}

/// As product_tile, for up to kTileRows rows.
HWY_INLINE void product_band(int64_t rows, int64_t columns, int64_t depth, const float* a,
                             int64_t a_row, int64_t a_col, const float* b, int64_t ldb, float* c,
                             int64_t ldc, bool add) {
  if (rows == kTileRows)
    return product_rows<kTileRows>(columns, depth, a, a_row, a_col, b, ldb, c, ldc, add);
  for (int64_t i = 0; i < rows; ++i)
    product_rows<1>(columns, depth, a + i * a_row, a_row, a_col, b, ldb, c + i * ldc, ldc, add);
}

}  // namespace titan::model::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target guard
