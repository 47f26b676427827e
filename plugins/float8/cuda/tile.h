/// A tile of 128 x 128 elements in the registers of 256 threads: 8 rows of 8 neighbours each.
#pragma once

#include <cuda_fp8.h>

#include "../format.h"
#include "kernels.h"
#include "launch.h"

namespace float8::device {

constexpr int kVector = 8;
constexpr int kThreadsAcross = kTile / kVector;
static_assert(kThreadsAcross * kThreadsAcross == kThreads,
              "every thread has an 8 x 8 part of the tile");

/// 8 neighbours of a row: one load of 16 bytes, or two.
template <class T>
struct alignas(16) Elements {
  T of[kVector];
};

struct alignas(8) Bytes8 {
  uint8_t of[kVector];
};

/// A thread's part of a tile.
template <class T>
struct Part {
  Elements<T> row[kVector];
};

/// Where a block's tile and a thread's part of it lie.
struct Place {
  int64_t tile_row, tile_column;
  int across, down;  ///< of the thread within the block
  TITAN_HD Place(int64_t block, int thread, int64_t columns) {
    const int64_t tiles_across = (columns + kTile - 1) / kTile;
    tile_row = block / tiles_across, tile_column = block % tiles_across;
    across = thread % kThreadsAcross, down = thread / kThreadsAcross;
  }
  TITAN_HD int64_t row(int i) const { return tile_row * kTile + down * kVector + i; }
  TITAN_HD int64_t column() const { return tile_column * kTile + across * kVector; }
};

/// Zeros outside of x [rows, columns].
template <class T>
TITAN_HD void load_part(const void* x, int64_t rows, int64_t columns, const Place& place,
                        Part<T>& part) {
  for (int i = 0; i < kVector; ++i) {
    if (place.row(i) < rows && place.column() < columns) {
      const T* from = static_cast<const T*>(x) + place.row(i) * columns + place.column();
      part.row[i] = *reinterpret_cast<const Elements<T>*>(from);
    } else {
      for (int j = 0; j < kVector; ++j) part.row[i].of[j] = T{};
    }
  }
}

/// The order of magnitudes as integers.
template <class T>
TITAN_HD int32_t magnitude_bits(T value) {
  return static_cast<int32_t>(bits_of(load_float(value)) & 0x7fffffffU);
}

TITAN_HD int32_t greater(int32_t a, int32_t b) { return a > b ? a : b; }

/// The larger magnitude in the order of magnitude_bits: a NaN is above all.
TITAN_HD float larger_magnitude(float a, float b) {
  return float_of(static_cast<uint32_t>(greater(magnitude_bits(a), magnitude_bits(b))));
}

/// The hardware's conversion on a GPU, the toolkit's software twin on a CPU: two at a time, first
/// one low.
template <Format F>
TITAN_HD Bytes8 encode_vector(const float (&x)[kVector]) {
  constexpr __nv_fp8_interpretation_t kKind = F == Format::kE4M3 ? __NV_E4M3 : __NV_E5M2;
  Bytes8 result;
  for (int i = 0; i < kVector; i += 2) {
    const float2 pair = {x[i], x[i + 1]};
    const __nv_fp8x2_storage_t codes = __nv_cvt_float2_to_fp8x2(pair, __NV_SATFINITE, kKind);
    result.of[i] = static_cast<uint8_t>(codes & 0xffU);
    result.of[i + 1] = static_cast<uint8_t>(codes >> 8);
  }
  return result;
}

/// float32 to the type of a result, to nearest, ties to even.
TITAN_HD void store_float(float value, float* out) { *out = value; }
TITAN_HD void store_float(float value, uint16_t* out) {
  const uint32_t bits = bits_of(value);
  *out = value != value ? uint16_t{0x7fc0}
                        : static_cast<uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

/// Largest magnitudes of a tile's rows and columns, in two phases: each thread leaves those of its
/// part, and after a barrier whoever needs a group's takes the greatest of its members.
struct TileMaxima {
  /// One more than the threads across: rows then begin in different banks.
  static constexpr int kPitch = kThreadsAcross + 1;
  int32_t rows[kTile * kPitch];
  int32_t columns[kThreadsAcross * kTile];

  template <class T>
  TITAN_HD void leave(const Part<T>& part, const Place& place) {
    int32_t of_column[kVector] = {};
    for (int i = 0; i < kVector; ++i) {
      int32_t of_row = 0;
      for (int j = 0; j < kVector; ++j) {
        const int32_t bits = magnitude_bits(part.row[i].of[j]);
        of_row = greater(of_row, bits);
        of_column[j] = greater(of_column[j], bits);
      }
      rows[(place.down * kVector + i) * kPitch + place.across] = of_row;
    }
    // The j-th columns of all threads side by side, so that a warp writes to different banks.
    for (int j = 0; j < kVector; ++j)
      columns[place.down * kTile + j * kThreadsAcross + place.across] = of_column[j];
  }
  /// Over the threads [from, to) across.
  TITAN_HD int32_t of_row(int row, int from, int to) const {
    int32_t largest = 0;
    for (int i = from; i < to; ++i) largest = greater(largest, rows[row * kPitch + i]);
    return largest;
  }
  /// The column whose maxima lie in slot `slot`.
  TITAN_HD static int column_of(int slot) {
    return slot % kThreadsAcross * kVector + slot / kThreadsAcross;
  }
  /// Over the threads [from, to) down.
  TITAN_HD int32_t of_slot(int slot, int from, int to) const {
    int32_t largest = 0;
    for (int i = from; i < to; ++i) largest = greater(largest, columns[i * kTile + slot]);
    return largest;
  }
};

}  // namespace float8::device
