/// The quantising kernels as functions of (block, thread): device code that also runs on a CPU.
///
/// A kernel is what lies between two barriers, called for each thread of a block. The launchers in
/// kernels.cu add the grid; tests add loops over blocks and threads and compare with the CPU
/// quantiser. That shows indexing, padding and rounding, not speed and not races.
/// None of this has ever run on a GPU.
#pragma once

#include <cuda_fp8.h>

#include "../format.h"
#include "../scale.h"

namespace float8::device {

/// A block of 256 threads casts a tile of 64 x 64 elements, 8 neighbours of a row a thread at a time.
constexpr int kThreads = 256;
constexpr int kTile = 64;
constexpr int kVector = 8;
constexpr int kVectorsPerRow = kTile / kVector;
constexpr int kPasses = kTile * kVectorsPerRow / kThreads;
/// Bytes between rows of the tile: 4 more than needed, so that a column crosses memory banks.
constexpr int kPitch = kTile + 4;

/// One tensor to cast. Columns are a multiple of 8 and pointers are aligned to 16 bytes.
struct CastArguments {
  const void* x;             ///< [rows, columns], row-major
  int64_t rows;
  int64_t columns;
  int64_t padded_rows;       ///< rows of the transposed copy's lines, a multiple of 8, >= rows
  const int32_t* amax_bits;  ///< bits of the largest magnitude, from the amax kernel
  uint8_t* row_out;          ///< [rows, columns], or null
  uint8_t* column_out;       ///< [columns, padded_rows], zero beyond `rows`, or null
  float* inverse_scale;      ///< written by the first block
};

TITAN_HD void load_vector(const float* x, float (&out)[kVector]) {
#if defined(__CUDA_ARCH__)
  const float4 low = reinterpret_cast<const float4*>(x)[0];
  const float4 high = reinterpret_cast<const float4*>(x)[1];
  out[0] = low.x, out[1] = low.y, out[2] = low.z, out[3] = low.w;
  out[4] = high.x, out[5] = high.y, out[6] = high.z, out[7] = high.w;
#else
  for (int i = 0; i < kVector; ++i) out[i] = x[i];
#endif
}

TITAN_HD void load_vector(const uint16_t* x, float (&out)[kVector]) {
#if defined(__CUDA_ARCH__)
  const uint4 raw = *reinterpret_cast<const uint4*>(x);
  const uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    out[2 * i] = float_of(words[i] << 16);
    out[2 * i + 1] = float_of(words[i] & 0xffff0000U);
  }
#else
  for (int i = 0; i < kVector; ++i) out[i] = load_float(x[i]);
#endif
}

struct alignas(8) Bytes8 {
  uint8_t byte[kVector];
};

/// The hardware's conversion on a GPU, its software twin on a CPU: two at a time, first one low.
template <Format F>
TITAN_HD Bytes8 encode_vector(const float (&x)[kVector], float scale) {
  constexpr __nv_fp8_interpretation_t kKind = F == Format::kE4M3 ? __NV_E4M3 : __NV_E5M2;
  Bytes8 result;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
  for (int i = 0; i < kVector; i += 2) {
    const float2 pair = {multiply(x[i], scale), multiply(x[i + 1], scale)};
    const __nv_fp8x2_storage_t codes = __nv_cvt_float2_to_fp8x2(pair, __NV_SATFINITE, kKind);
    result.byte[i] = static_cast<uint8_t>(codes & 0xffU);
    result.byte[i + 1] = static_cast<uint8_t>(codes >> 8);
  }
  return result;
}

/// What one of `threads` threads of the whole grid sees: the bits of the largest magnitude.
/// Bits of magnitudes are ordered like them, NaN above infinity, so a maximum of integers keeps
/// both. `n` is a multiple of 8.
template <class T>
TITAN_HD int32_t thread_amax(const T* x, int64_t n, int64_t thread, int64_t threads) {
  int32_t largest = 0;
  for (int64_t i = thread * kVector; i < n; i += threads * kVector) {
    float values[kVector];
    load_vector(x + i, values);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int j = 0; j < kVector; ++j) {
      const int32_t bits = static_cast<int32_t>(bits_of(values[j]) & 0x7fffffffU);
      largest = bits > largest ? bits : largest;
    }
  }
  return largest;
}

/// First half of the cast: reads the tile once, writes it as rows and keeps it for the second half.
template <Format F, class T>
TITAN_HD void cast_rows(const CastArguments& a, int64_t tile_row, int64_t tile_column, int thread,
                        uint8_t* tile) {
  const float scale = scale_of<F>(float_of(static_cast<uint32_t>(*a.amax_bits)));
  if (tile_row == 0 && tile_column == 0 && thread == 0) *a.inverse_scale = reciprocal(scale);
  for (int pass = 0; pass < kPasses; ++pass) {
    const int slot = pass * kThreads + thread;
    const int in_row = slot / kVectorsPerRow;
    const int in_column = slot % kVectorsPerRow * kVector;
    const int64_t row = tile_row * kTile + in_row;
    const int64_t column = tile_column * kTile + in_column;
    Bytes8 codes = {};
    if (row < a.rows && column < a.columns) {
      float values[kVector];
      load_vector(static_cast<const T*>(a.x) + row * a.columns + column, values);
      codes = encode_vector<F>(values, scale);
      if (a.row_out) *reinterpret_cast<Bytes8*>(a.row_out + row * a.columns + column) = codes;
    }
    for (int i = 0; i < kVector; ++i) tile[in_row * kPitch + in_column + i] = codes.byte[i];
  }
}

/// Second half, after a barrier: writes the tile as columns. Only if there is a column_out.
TITAN_HD void cast_columns(const CastArguments& a, int64_t tile_row, int64_t tile_column, int thread,
                           const uint8_t* tile) {
  for (int pass = 0; pass < kPasses; ++pass) {
    const int slot = pass * kThreads + thread;
    const int in_column = slot / kVectorsPerRow;
    const int in_row = slot % kVectorsPerRow * kVector;
    const int64_t row = tile_row * kTile + in_row;
    const int64_t column = tile_column * kTile + in_column;
    if (column >= a.columns || row >= a.padded_rows) continue;
    Bytes8 codes;
    for (int i = 0; i < kVector; ++i) codes.byte[i] = tile[(in_row + i) * kPitch + in_column];
    *reinterpret_cast<Bytes8*>(a.column_out + column * a.padded_rows + row) = codes;
  }
}

}  // namespace float8::device
