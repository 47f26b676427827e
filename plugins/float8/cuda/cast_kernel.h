/// The cast: a tile is read once and leaves in both layouts, each with scales along its own rows.
#pragma once

#include "../scale.h"
#include "tile.h"

namespace float8::device {

/// `kMeasure`: counts what the rows lose and writes nothing else.
template <Format F, class T, Granularity G, bool kMeasure = false>
struct CastKernel {
  using Arguments = CastArguments;
  static constexpr int kPhases = 4;
  static constexpr bool kInTile = G == Granularity::k1x128 || G == Granularity::k1x32;
  /// Both layouts hold the same bytes.
  static constexpr bool kOneScale = G == Granularity::kTensor || G == Granularity::k128x128;
  /// Groups of a row within a tile.
  static constexpr int kGroups = G == Granularity::k1x32 ? 4 : 1;
  static constexpr int kThreadsOfGroup = kThreadsAcross / kGroups;

  struct Empty {};
  struct Scales {
    TileMaxima maxima;
    float rows[kTile * kGroups];
    float columns[kTile * kGroups];
  };
  struct Shared {
    /// Of a column's 16 vectors of 8 rows, the i-th lies at i ^ (column / 8): reading and writing
    /// both then touch all banks.
    union {
      alignas(16) uint8_t tile[kTile * kTile];
      float sums[kThreadsAcross * kTile];
      float measures[kMeasures * kThreads];
    };
    std::conditional_t<kInTile, Scales, Empty> scales;
    int32_t finite[kWarps];
    int32_t largest[kWarps];
  };
  struct Thread {
    Part<T> part;
  };

  TITAN_HD static float rounded(const Arguments& a, float scale) {
    return a.power_of_two ? power_of_two_below(scale) : scale;
  }
  TITAN_HD static float scale_from(const Arguments& a, int32_t bits) {
    return rounded(a, scale_of<F>(float_of(static_cast<uint32_t>(bits))));
  }

  /// Reads the tile; leaves largest magnitudes and sums.
  TITAN_HD static void phase(std::integral_constant<int, 0>, const Arguments& a, int64_t block,
                             int thread, Shared& shared, Thread& state) {
    const Place place(block, thread, a.columns);
    load_part<T>(a.x, a.rows, a.columns, place, state.part);
    if constexpr (kInTile) shared.scales.maxima.leave(state.part, place);
    if (G == Granularity::k128x128 || (G == Granularity::kTensor && a.seen)) {
      int32_t finite = 0, largest = 0;
      for (int i = 0; i < kVector; ++i)
        for (int j = 0; j < kVector; ++j) {
          const int32_t bits = magnitude_bits(state.part.row[i].of[j]);
          largest = greater(largest, bits);
          if (bits < 0x7f800000) finite = greater(finite, bits);
        }
      warp_max_into(shared.finite, thread, finite);
      warp_max_into(shared.largest, thread, largest);
    }
    if (a.column_sums)
      for (int j = 0; j < kVector; ++j) {
        float sum = 0;
        for (int i = 0; i < kVector; ++i) sum += load_float(state.part.row[i].of[j]);
        shared.sums[place.down * kTile + j * kThreadsAcross + place.across] = sum;
      }
  }

  /// Scales of the groups within the tile; what the whole tensor has seen; sums over the tile's
  /// rows.
  TITAN_HD static void phase(std::integral_constant<int, 1>, const Arguments& a, int64_t block,
                             int thread, Shared& shared, Thread&) {
    const Place place(block, thread, a.columns);
    if constexpr (kInTile) {
      if (thread < kTile)
        scale_row(a, place, thread, shared.scales);
      else
        scale_column(a, place, thread - kTile, shared.scales);
    }
    if (G == Granularity::kTensor && a.seen && thread == 0) {
      atomic_max(a.seen, max_of_warps(shared.finite));
      atomic_max(a.seen + 1, max_of_warps(shared.largest));
    }
    const int64_t column = place.tile_column * kTile + TileMaxima::column_of(thread);
    if (a.column_sums && thread < kTile && column < a.columns && place.tile_row * kTile < a.rows) {
      float sum = 0;
      for (int i = 0; i < kThreadsAcross; ++i) sum += shared.sums[i * kTile + thread];
      a.column_sums[place.tile_row * a.columns + column] = sum;
    }
  }

  /// Writes the rows, and the columns into the tile.
  TITAN_HD static void phase(std::integral_constant<int, 2>, const Arguments& a, int64_t block,
                             int thread, Shared& shared, Thread& state) {
    const Place place(block, thread, a.columns);
    if (!kMeasure && !a.row_out && !a.column_out) return;
    const float one = one_scale(a, place, thread, shared);
    float measures[kMeasures] = {};
    Bytes8 codes[kVector];
    for (int i = 0; i < kVector; ++i) {
      if (!kMeasure && !kOneScale && !a.row_out) break;
      const float scale = kOneScale ? one : row_scale(a, place, i, shared);
      float values[kVector];
      for (int j = 0; j < kVector; ++j)
        values[j] = multiply(load_float(state.part.row[i].of[j]), scale);
      codes[i] = encode_vector<F>(values);
      if constexpr (kMeasure) measure(state.part.row[i], values, codes[i], scale, measures);
      if (a.row_out && place.row(i) < a.padded_rows && place.column() < a.columns)
        *reinterpret_cast<Bytes8*>(a.row_out + place.row(i) * a.columns + place.column()) =
            codes[i];
    }
    if constexpr (kMeasure)
      for (int m = 0; m < kMeasures; ++m) shared.measures[m * kThreads + thread] = measures[m];
    if constexpr (!kMeasure) {
      if (!a.column_out) return;
      for (int j = 0; j < kVector; ++j) {
        const Bytes8 column = column_codes(a, place, j, codes, state.part, shared);
        *reinterpret_cast<Bytes8*>(shared.tile + (place.across * kVector + j) * kTile +
                                   (place.down ^ place.across) * kVector) = column;
      }
    }
  }

  /// Writes the columns.
  TITAN_HD static void phase(std::integral_constant<int, 3>, const Arguments& a, int64_t block,
                             int thread, Shared& shared, Thread&) {
    if constexpr (kMeasure) {
      if (thread < kMeasures)
        a.measures[block * kMeasures + thread] =
            total(shared.measures + thread * kThreads, thread == kLargest);
    } else {
      write_columns(a, block, thread, shared);
    }
  }

 private:
  TITAN_HD static void write_columns(const Arguments& a, int64_t block, int thread,
                                     const Shared& shared) {
    if (!a.column_out) return;
    const Place place(block, thread, a.columns);
    for (int pass = 0; pass < kVector; ++pass) {
      const int in_column = pass * kThreadsAcross + thread / kThreadsAcross;
      const int vector = thread % kThreadsAcross;
      const int64_t column = place.tile_column * kTile + in_column;
      const int64_t row = place.tile_row * kTile + vector * kVector;
      if (column >= a.columns || row >= a.padded_rows) continue;
      const uint8_t* from =
          shared.tile + in_column * kTile + (vector ^ in_column / kVector) * kVector;
      *reinterpret_cast<Bytes8*>(a.column_out + column * a.padded_rows + row) =
          *reinterpret_cast<const Bytes8*>(from);
    }
  }

  /// The codes of a thread's j-th column.
  TITAN_HD static Bytes8 column_codes(const Arguments& a, const Place& place, int j,
                                      const Bytes8 (&rows)[kVector], const Part<T>& part,
                                      const Shared& shared) {
    if constexpr (kOneScale) {
      Bytes8 column;
      for (int i = 0; i < kVector; ++i) column.of[i] = rows[i].of[j];
      return column;
    } else {
      const float scale = column_scale(a, place, j, shared);
      float values[kVector];
      for (int i = 0; i < kVector; ++i) values[i] = multiply(load_float(part.row[i].of[j]), scale);
      return encode_vector<F>(values);
    }
  }

  TITAN_HD static void measure(const Elements<T>& x, const float (&scaled)[kVector],
                               const Bytes8& codes, float scale, float (&measures)[kMeasures]) {
    for (int j = 0; j < kVector; ++j) {
      const float value = load_float(x.of[j]);
      const float error = value - decode<F>(codes.of[j]) / scale;
      measures[kNonZero] += value != 0.0F ? 1.0F : 0.0F;
      measures[kLost] += value != 0.0F && (codes.of[j] & 0x7fU) == 0 ? 1.0F : 0.0F;
      measures[kSaturated] +=
          float_of(bits_of(scaled[j]) & 0x7fffffffU) > FormatFacts<F>::kMax ? 1.0F : 0.0F;
      measures[kSignal] += value * value;
      measures[kNoise] += error * error;
      measures[kLargest] = larger_magnitude(measures[kLargest], value);
    }
  }
  TITAN_HD static float total(const float* of_threads, bool largest) {
    float result = of_threads[0];
    for (int i = 1; i < kThreads; ++i)
      result = largest ? larger_magnitude(result, of_threads[i]) : result + of_threads[i];
    return result;
  }

  /// The scale of the whole tensor or tile, 1 where there is none; the block that has the first
  /// element of a group writes down its reciprocal.
  TITAN_HD static float one_scale(const Arguments& a, const Place& place, int thread,
                                  const Shared& shared) {
    if constexpr (G == Granularity::kTensor) {
      const float stored = a.stored_scale ? *a.stored_scale : 0.0F;
      const float scale = stored != 0.0F ? rounded(a, stored) : scale_from(a, *a.amax_bits);
      if (place.tile_row == 0 && place.tile_column == 0 && thread == 0)
        *static_cast<float*>(a.row_scales) = reciprocal(scale);
      return scale;
    }
    if constexpr (G == Granularity::k128x128) {
      const float scale = scale_from(a, max_of_warps(shared.largest));
      if (thread == 0) {
        const int64_t across = (a.columns + kTile - 1) / kTile,
                      down = (a.padded_rows + kTile - 1) / kTile;
        if (a.row_scales)
          static_cast<float*>(
              a.row_scales)[place.tile_row * ((across + 3) / 4 * 4) + place.tile_column] =
              reciprocal(scale);
        if (a.column_scales)
          static_cast<float*>(
              a.column_scales)[place.tile_column * ((down + 3) / 4 * 4) + place.tile_row] =
              reciprocal(scale);
      }
      return scale;
    }
    return 1.0F;
  }

  TITAN_HD static float row_scale(const Arguments& a, const Place& place, int i,
                                  const Shared& shared) {
    if constexpr (G == Granularity::kVector) {
      const int64_t row = place.row(i);
      if (row >= a.padded_rows) return 1.0F;
      const float scale = scale_from(a, a.row_amax[row]);
      if (place.tile_column == 0 && place.across == 0)
        static_cast<float*>(a.row_scales)[row] = reciprocal(scale);
      return scale;
    } else if constexpr (kInTile) {
      return shared.scales
          .rows[(place.down * kVector + i) * kGroups + place.across / kThreadsOfGroup];
    } else {
      return 1.0F;
    }
  }

  TITAN_HD static float column_scale(const Arguments& a, const Place& place, int j,
                                     const Shared& shared) {
    if constexpr (G == Granularity::kVector) {
      const int64_t column = place.column() + j;
      if (column >= a.columns) return 1.0F;
      const float scale = scale_from(a, a.column_amax[column]);
      if (place.tile_row == 0 && place.down == 0)
        static_cast<float*>(a.column_scales)[column] = reciprocal(scale);
      return scale;
    } else if constexpr (kInTile) {
      return shared.scales
          .columns[place.down / kThreadsOfGroup * kTile + place.across * kVector + j];
    } else {
      return 1.0F;
    }
  }

  /// The scale of a group from its largest magnitude; what undoes it goes to `at` of `out`.
  TITAN_HD static float scale_group(const Arguments& a, int32_t bits, void* out, int64_t at,
                                    bool inside) {
    if constexpr (G == Granularity::k1x32) {
      const uint32_t exponent = e8m0_of<F>(float_of(static_cast<uint32_t>(bits)));
      if (out) static_cast<uint8_t*>(out)[at] = static_cast<uint8_t>(exponent);
      return scale_of_e8m0(exponent);
    } else {
      const float scale = scale_from(a, bits);
      if (out && inside) static_cast<float*>(out)[at] = reciprocal(scale);
      return scale;
    }
  }

  template <class S>
  TITAN_HD static void scale_row(const Arguments& a, const Place& place, int in_row, S& scales) {
    const int64_t row = place.tile_row * kTile + in_row;
    for (int group = 0; group < kGroups; ++group) {
      const int64_t block = place.tile_column * kGroups + group;
      const int64_t at = G == Granularity::k1x32 ? swizzled(row, block, (a.columns + 31) / 32)
                                                 : block * a.padded_rows + row;
      scales.rows[in_row * kGroups + group] = scale_group(
          a, scales.maxima.of_row(in_row, group * kThreadsOfGroup, (group + 1) * kThreadsOfGroup),
          a.row_scales, at, row < a.padded_rows);
    }
  }

  template <class S>
  TITAN_HD static void scale_column(const Arguments& a, const Place& place, int slot, S& scales) {
    const int in_column = TileMaxima::column_of(slot);
    const int64_t column = place.tile_column * kTile + in_column;
    for (int group = 0; group < kGroups; ++group) {
      const int64_t block = place.tile_row * kGroups + group;
      const int64_t at = G == Granularity::k1x32
                             ? swizzled(column, block, (a.padded_rows + 31) / 32)
                             : block * a.columns + column;
      scales.columns[group * kTile + in_column] = scale_group(
          a, scales.maxima.of_slot(slot, group * kThreadsOfGroup, (group + 1) * kThreadsOfGroup),
          a.column_scales, at, column < a.columns);
    }
  }
};

}  // namespace float8::device
