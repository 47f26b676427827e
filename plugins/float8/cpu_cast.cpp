#include "cpu_cast.h"

#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <vector>

#include "cpu_quantize.h"
#include "matrix.h"

namespace float8 {
namespace {

using torch::headeronly::ScalarType;

/// Elements a thread takes at least: below this, waking a thread costs more than it saves.
constexpr int64_t kGrain = 32768;
/// Floats in a line of the cache: threads that write columns side by side must not share one.
constexpr int64_t kCacheLine = 16;

struct Elements {
  const char* data;
  InputType type;
  int64_t size;  ///< bytes of an element
  int64_t rows, columns;

  explicit Elements(const Matrix& x)
      : data(static_cast<const char*>(x.const_data_ptr())),
        type(input_type(x)),
        size(type == InputType::kFloat32 ? 4 : 2),
        rows(rows_of(x)),
        columns(columns_of(x)) {}
  const void* at(int64_t row, int64_t column) const {
    return data + (row * columns + column) * size;
  }
};

int64_t groups(int64_t length, int64_t block) {
  return block == 0 ? 1 : (length + block - 1) / block;
}
int64_t grain(int64_t elements_of_one) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, elements_of_one));
}

/// Columns that are cast at once where each has a scale: with 128 rows they stay in a core's cache.
constexpr int64_t kPiece = 512;  // a multiple of every segment

/// Segments shorter than this are cast together, with their scales repeated for each element: less
/// work than a call for each.
constexpr int64_t kShort = 64;
/// Columns of a tile whose columns have scales.
constexpr int64_t kWidest = 4096;

/// Whole columns are read twice, row by row: one range for each thread, in lines of the cache.
int64_t width_of_columns(int64_t columns) {
  const auto threads = static_cast<int64_t>(torch::stable::get_num_threads());
  const int64_t lines = (columns + threads * kCacheLine - 1) / (threads * kCacheLine);
  return std::max<int64_t>(lines, 4) * kCacheLine;
}

/// Where the groups of a matrix lie. Tiles are what a thread takes at once: a band of rows by a
/// range of columns, in which every row has one scale after the other, or every column one scale.
struct Grouping {
  bool of_columns;         ///< a scale for each column of a band
  int64_t height, width;   ///< of a tile
  int64_t segment;         ///< of_columns: none; else the columns that share a scale
  int64_t bands, across;   ///< tiles down and across
  int64_t scales_of_band;  ///< scales of one band of rows

  Grouping(const Elements& x, Granularity granularity, Along along) {
    const int64_t length = block_length(granularity);
    const bool square = granularity == Granularity::k128x128;
    of_columns = along == Along::kRows && !square && granularity != Granularity::kTensor;
    if (of_columns) {
      height = length == 0 ? x.rows : length;
      // Rows as long as may be, as memory likes them; but something for every thread.
      const bool few = length == 0 || groups(x.rows, length) <
                                          static_cast<int64_t>(torch::stable::get_num_threads());
      width = few ? width_of_columns(x.columns) : std::min(x.columns, kWidest);
      segment = 0;
      scales_of_band = x.columns;
    } else {
      height = square ? length : 1;
      width = x.columns;
      segment = length == 0 ? x.columns : length;
      scales_of_band = granularity == Granularity::kTensor ? 0 : groups(x.columns, length);
    }
    // A matrix without rows still has a scale for each of its columns.
    bands = length == 0 && of_columns ? 1 : (x.rows + height - 1) / height;
    across = width == 0 ? 0 : (x.columns + width - 1) / width;
  }
};

/// Writes the scales of one tile.
void find_scales(const Elements& x, const Cast& cast, const Grouping& grouping, int64_t first_row,
                 int64_t end_row, int64_t first, int64_t end, float* scales) {
  const CpuQuantizer& quantizer = cpu_quantizer();
  if (grouping.of_columns) {
    std::vector<uint32_t> largest(static_cast<size_t>(end - first));
    for (int64_t row = first_row; row < end_row; ++row)
      quantizer.amax_columns(x.at(row, first), x.type, end - first, largest.data());
    for (int64_t i = 0; i < end - first; ++i)
      scales[first + i] =
          scale_of(float_of(largest[static_cast<size_t>(i)]), cast.format, cast.rule);
    return;
  }
  const int64_t segments = (end - first + grouping.segment - 1) / grouping.segment;
  std::vector<uint32_t> largest(static_cast<size_t>(segments));
  for (int64_t row = first_row; row < end_row; ++row)
    quantizer.amax_segments(x.at(row, first), x.type, end - first, grouping.segment,
                            largest.data());
  for (int64_t i = 0; i < segments; ++i)
    scales[i] = scale_of(float_of(largest[static_cast<size_t>(i)]), cast.format, cast.rule);
}

/// For each tile in parallel: finds its scales if `find`, then calls one(row, column, count, scale)
/// for each stretch with one scale, or many(row, column, count, scales) where each element has one.
template <class One, class Many>
void for_groups(const Elements& x, const Cast& cast, Along along, float* scales, bool find,
                const One& one, const Many& many) {
  const Grouping grouping(x, cast.granularity, along);
  const int64_t tiles = grouping.bands * grouping.across;
  torch::stable::parallel_for(
      0, tiles, grain(grouping.height * grouping.width), [&](int64_t begin, int64_t end) {
        for (int64_t tile = begin; tile < end; ++tile) {
          const int64_t band = tile / grouping.across,
                        first = tile % grouping.across * grouping.width,
                        last = std::min(first + grouping.width, x.columns),
                        first_row = band * grouping.height,
                        end_row = std::min(first_row + grouping.height, x.rows);
          float* of_band = scales + band * grouping.scales_of_band;
          if (find) find_scales(x, cast, grouping, first_row, end_row, first, last, of_band);
          for (int64_t row = first_row; row < end_row; ++row) {
            if (grouping.of_columns) {
              for (int64_t column = first; column < last; column += kPiece)
                many(row, column, std::min(kPiece, last - column), of_band + column);
              continue;
            }
            if (grouping.segment >= kShort || first + grouping.segment >= last) {
              for (int64_t column = first, i = 0; column < last; column += grouping.segment, ++i)
                one(row, column, std::min(grouping.segment, last - column), of_band[i]);
              continue;
            }
            std::array<float, kPiece> each;
            for (int64_t column = first; column < last; column += kPiece) {
              const int64_t count = std::min(kPiece, last - column);
              for (int64_t i = 0; i < count; i += grouping.segment)
                std::fill_n(each.begin() + i, std::min(grouping.segment, count - i),
                            of_band[(column + i) / grouping.segment]);
              many(row, column, count, each.data());
            }
          }
        }
      });
}

float* floats_in(const Matrix& a) {
  return static_cast<float*>(const_cast<void*>(a.const_data_ptr()));
}

Matrix empty_scales(const Matrix& matrix, const Cast& cast, Along along) {
  const Elements x(matrix);
  if (cast.granularity == Granularity::kTensor) return new_vector(matrix, 1, ScalarType::Float);
  const Grouping grouping(x, cast.granularity, along);
  return new_vector(matrix, grouping.bands * grouping.scales_of_band, ScalarType::Float);
}

/// x through the format, with scales that are there or, if `find`, are written.
Matrix cast_groups(const Matrix& matrix, const Cast& cast, Along along, const Matrix& scales,
                   bool find, CastTo to) {
  const CpuQuantizer& quantizer = cpu_quantizer();
  const Elements x(matrix);
  const Format format = cast.format;
  const auto run = [&](ScalarType type, const auto& one, const auto& many) {
    Matrix result = new_matrix(matrix, x.rows, x.columns, type);
    void* out = result.mutable_data_ptr();
    for_groups(
        x, cast, along, floats_in(scales), find,
        [&](int64_t row, int64_t column, int64_t count, float scale) {
          one(x.at(row, column), count, scale, out, row * x.columns + column);
        },
        [&](int64_t row, int64_t column, int64_t count, const float* each) {
          many(x.at(row, column), count, each, out, row * x.columns + column);
        });
    return result;
  };
  switch (to) {
    case CastTo::kBytes:
      return run(
          ScalarType::Byte,
          [&](const void* from, int64_t count, float scale, void* out, int64_t place) {
            quantizer.cast(from, x.type, count, scale, format, static_cast<uint8_t*>(out) + place);
          },
          [&](const void* from, int64_t count, const float* each, void* out, int64_t place) {
            quantizer.cast_columns(from, x.type, count, each, format,
                                   static_cast<uint8_t*>(out) + place);
          });
    case CastTo::kFloat32:
      return run(
          ScalarType::Float,
          [&](const void* from, int64_t count, float scale, void* out, int64_t place) {
            quantizer.emulate(from, x.type, count, scale, format, static_cast<float*>(out) + place);
          },
          [&](const void* from, int64_t count, const float* each, void* out, int64_t place) {
            quantizer.emulate_columns(from, x.type, count, each, format,
                                      static_cast<float*>(out) + place);
          });
    case CastTo::kNarrow: break;
  }
  const bool undone = is_undone(cast);
  return run(
      ScalarType::BFloat16,
      [&](const void* from, int64_t count, float scale, void* out, int64_t place) {
        quantizer.narrow(from, x.type, count, scale, undone ? 1.0F / scale : 1.0F, format,
                         static_cast<uint16_t*>(out) + place);
      },
      [&](const void* from, int64_t count, const float* each, void* out, int64_t place) {
        std::array<float, kPiece> undo;
        for (int64_t i = 0; i < count; ++i)
          undo[static_cast<size_t>(i)] = undone ? 1.0F / each[i] : 1.0F;
        quantizer.narrow_columns(from, x.type, count, each, undo.data(), format,
                                 static_cast<uint16_t*>(out) + place);
      });
}

}  // namespace

float find_amax(const Matrix& matrix, bool finite_only) {
  const Elements x(matrix);
  std::atomic<uint32_t> largest{0};
  const auto offer = [&](uint32_t bits) {
    uint32_t seen = largest.load(std::memory_order_relaxed);
    while (bits > seen && !largest.compare_exchange_weak(seen, bits, std::memory_order_relaxed)) {
    }
  };
  torch::stable::parallel_for(0, matrix.numel(), kGrain, [&](int64_t begin, int64_t end) {
    const char* data = x.data + begin * x.size;
    if (!finite_only) return offer(cpu_quantizer().amax_bits(data, x.type, end - begin));
    uint32_t found = 0;
    for (int64_t i = 0; i < end - begin; ++i) {
      const float value = x.type == InputType::kFloat32
                              ? reinterpret_cast<const float*>(data)[i]
                              : load_float(reinterpret_cast<const uint16_t*>(data)[i]);
      if (std::isfinite(value)) found = std::max(found, bits_of(value) & 0x7fffffffU);
    }
    offer(found);
  });
  return float_of(largest.load());
}

Matrix scales_of(const Matrix& matrix, const Cast& cast, Along along) {
  const Matrix scales = empty_scales(matrix, cast, along);
  if (cast.granularity == Granularity::kTensor)
    *floats_in(scales) = scale_of(find_amax(matrix), cast.format, cast.rule);
  else
    for_groups(
        Elements(matrix), cast, along, floats_in(scales), true,
        [](int64_t, int64_t, int64_t, float) {}, [](int64_t, int64_t, int64_t, const float*) {});
  return scales;
}

Matrix emulate_cast(const Matrix& x, const Cast& cast, Along along, const Matrix& scales) {
  return cast_groups(x, cast, along, scales, false, CastTo::kFloat32);
}

Matrix cast_to_bytes(const Matrix& x, const Cast& cast, Along along, const Matrix& scales) {
  return cast_groups(x, cast, along, scales, false, CastTo::kBytes);
}

Matrix narrow_cast(const Matrix& x, const Cast& cast, Along along, const Matrix& scales) {
  return cast_groups(x, cast, along, scales, false, CastTo::kNarrow);
}

bool is_undone(const Cast& cast) { return cast.rule != ScaleRule::kExact; }

Scaled scale_and_cast(const Matrix& x, const Cast& cast, Along along, CastTo to) {
  const bool whole = cast.granularity == Granularity::kTensor;
  Matrix scales = whole ? scales_of(x, cast, along) : empty_scales(x, cast, along);
  Matrix values = cast_groups(x, cast, along, scales, !whole, to);
  return {std::move(values), std::move(scales)};
}

CastLoss loss_of_cast(const Matrix& matrix, const Cast& cast, Along along, const Matrix& scales) {
  const Elements x(matrix);
  const float largest = cast.format == Format::kE4M3 ? FormatFacts<Format::kE4M3>::kMax
                                                     : FormatFacts<Format::kE5M2>::kMax;
  // Half of the smallest subnormal goes to zero (a tie, to even).
  const float smallest =
      0.5F / (cast.format == Format::kE4M3 ? FormatFacts<Format::kE4M3>::kPerSubnormal
                                           : FormatFacts<Format::kE5M2>::kPerSubnormal);
  struct Sums {
    int64_t non_zero = 0, lost = 0, saturated = 0;
    double signal = 0, noise = 0;
  };
  // One for each piece of a row: added up in their order, the result does not depend on the
  // threads.
  const int64_t pieces = groups(x.columns, kPiece);
  std::vector<Sums> of_rows(static_cast<size_t>(x.rows * pieces));
  const auto count_in = [&](int64_t row, int64_t column, int64_t count, const float* each,
                            float scale) {
    Sums& sums = of_rows[static_cast<size_t>(row * pieces + column / kPiece)];
    std::vector<float> back(static_cast<size_t>(count));
    if (each)
      cpu_quantizer().emulate_columns(x.at(row, column), x.type, count, each, cast.format,
                                      back.data());
    else
      cpu_quantizer().emulate(x.at(row, column), x.type, count, scale, cast.format, back.data());
    for (int64_t i = 0; i < count; ++i) {
      const void* at = x.at(row, column + i);
      const float value = x.type == InputType::kFloat32
                              ? *static_cast<const float*>(at)
                              : load_float(*static_cast<const uint16_t*>(at));
      const float scaled = std::fabs(value) * (each ? each[i] : scale);
      const double error =
          static_cast<double>(value) - static_cast<double>(back[static_cast<size_t>(i)]);
      sums.non_zero += value != 0;
      sums.lost += value != 0 && scaled <= smallest;
      sums.saturated += scaled > largest;
      sums.signal += static_cast<double>(value) * static_cast<double>(value);
      sums.noise += error * error;
    }
  };
  for_groups(
      x, cast, along, floats_in(scales), false,
      [&](int64_t row, int64_t column, int64_t count, float scale) {
        count_in(row, column, count, nullptr, scale);
      },
      [&](int64_t row, int64_t column, int64_t count, const float* each) {
        count_in(row, column, count, each, 0);
      });
  Sums all;
  for (const Sums& sums : of_rows) {
    all.non_zero += sums.non_zero;
    all.lost += sums.lost;
    all.saturated += sums.saturated;
    all.signal += sums.signal;
    all.noise += sums.noise;
  }
  CastLoss loss;
  if (all.non_zero > 0)
    loss.underflow = static_cast<double>(all.lost) / static_cast<double>(all.non_zero);
  if (matrix.numel() > 0)
    loss.saturation = static_cast<double>(all.saturated) / static_cast<double>(matrix.numel());
  loss.sqnr_db = 10 * std::log10(all.signal / all.noise);
  return loss;
}

}  // namespace float8
