#include "cpu_cast.h"

#include <torch/csrc/stable/ops.h>

#include <algorithm>
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

/// The groups that lie within rows, or in squares: `height` rows share the scales of their
/// segments.
void scales_of_segments(const Elements& x, const Cast& cast, int64_t length, int64_t height,
                        float* scales) {
  const int64_t block = length == 0 ? x.columns : length;
  const int64_t across = groups(x.columns, length);
  torch::stable::parallel_for(
      0, groups(x.rows, height), grain(height * x.columns), [&](int64_t begin, int64_t end) {
        for (int64_t band = begin; band < end; ++band)
          for (int64_t segment = 0; segment < across; ++segment) {
            const int64_t first = segment * block, count = std::min(block, x.columns - first);
            uint32_t largest = 0;
            for (int64_t row = band * height; row < std::min((band + 1) * height, x.rows); ++row)
              largest =
                  std::max(largest, cpu_quantizer().amax_bits(x.at(row, first), x.type, count));
            scales[band * across + segment] = scale_of(float_of(largest), cast.format, cast.rule);
          }
      });
}

/// The groups that lie within columns: bands of `length` rows, each with a scale a column.
void scales_of_columns(const Elements& x, const Cast& cast, int64_t length, float* scales) {
  const int64_t block = length == 0 ? x.rows : length;
  const int64_t chunks = (x.columns + kCacheLine - 1) / kCacheLine;
  torch::stable::parallel_for(
      0, chunks, grain(x.rows * kCacheLine), [&](int64_t begin, int64_t end) {
        const int64_t first = begin * kCacheLine,
                      count = std::min(end * kCacheLine, x.columns) - first;
        std::vector<uint32_t> largest(static_cast<size_t>(count));
        for (int64_t band = 0; band < groups(x.rows, length); ++band) {
          std::fill(largest.begin(), largest.end(), 0U);
          for (int64_t row = band * block; row < std::min((band + 1) * block, x.rows); ++row)
            cpu_quantizer().amax_columns(x.at(row, first), x.type, count, largest.data());
          for (int64_t i = 0; i < count; ++i)
            scales[band * x.columns + first + i] =
                scale_of(float_of(largest[static_cast<size_t>(i)]), cast.format, cast.rule);
        }
      });
}

/// Calls one(row, column, count, scale) for each stretch with one scale, or many(row, count,
/// scales) for each row whose elements have scales of their own.
template <class One, class Many>
void for_groups(const Elements& x, const Cast& cast, Along along, const float* scales,
                const One& one, const Many& many) {
  const int64_t length = block_length(cast.granularity);
  const bool square = cast.granularity == Granularity::k128x128;
  const bool whole = cast.granularity == Granularity::kTensor;
  torch::stable::parallel_for(0, x.rows, grain(x.columns), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      if (along == Along::kRows && !square && !whole) {
        many(row, x.columns, scales + (length == 0 ? 0 : row / length) * x.columns);
        continue;
      }
      const int64_t block = length == 0 ? x.columns : length;
      const int64_t across = groups(x.columns, length);
      for (int64_t segment = 0; segment < across; ++segment) {
        const int64_t first = segment * block;
        const int64_t band = whole ? 0 : square ? row / length : row;
        one(row, first, std::min(block, x.columns - first), scales[band * across + segment]);
      }
    }
  });
}

const float* floats(const Matrix& a) { return static_cast<const float*>(a.const_data_ptr()); }

/// x through the format into a matrix of `Element`: `one` casts a stretch with one scale, `many` a
/// row whose elements have scales of their own.
template <class Element, class One, class Many>
Matrix cast_groups(const Matrix& matrix, const Cast& cast, Along along, const Matrix& scales,
                   ScalarType type, One one, Many many) {
  const CpuQuantizer& quantizer = cpu_quantizer();
  const Elements x(matrix);
  Matrix result = new_matrix(matrix, x.rows, x.columns, type);
  auto* out = static_cast<Element*>(result.mutable_data_ptr());
  for_groups(
      x, cast, along, floats(scales),
      [&](int64_t row, int64_t column, int64_t count, float scale) {
        (quantizer.*one)(x.at(row, column), x.type, count, scale, cast.format,
                         out + row * x.columns + column);
      },
      [&](int64_t row, int64_t count, const float* each) {
        (quantizer.*many)(x.at(row, 0), x.type, count, each, cast.format, out + row * x.columns);
      });
  return result;
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
  const Elements x(matrix);
  const int64_t length = block_length(cast.granularity);
  const auto make = [&](int64_t count) { return new_vector(matrix, count, ScalarType::Float); };
  if (cast.granularity == Granularity::kTensor) {
    Matrix scale = make(1);
    *static_cast<float*>(scale.mutable_data_ptr()) =
        scale_of(find_amax(matrix), cast.format, cast.rule);
    return scale;
  }
  const bool square = cast.granularity == Granularity::k128x128;
  if (along == Along::kRows && !square) {
    Matrix scales = make(groups(x.rows, length) * x.columns);
    scales_of_columns(x, cast, length, static_cast<float*>(scales.mutable_data_ptr()));
    return scales;
  }
  const int64_t height = square ? length : 1;
  Matrix scales = make(groups(x.rows, height) * groups(x.columns, length));
  scales_of_segments(x, cast, length, height, static_cast<float*>(scales.mutable_data_ptr()));
  return scales;
}

Matrix emulate_cast(const Matrix& matrix, const Cast& cast, Along along, const Matrix& scales) {
  return cast_groups<float>(matrix, cast, along, scales, ScalarType::Float, &CpuQuantizer::emulate,
                            &CpuQuantizer::emulate_columns);
}

Matrix cast_to_bytes(const Matrix& matrix, const Cast& cast, Along along, const Matrix& scales) {
  return cast_groups<uint8_t>(matrix, cast, along, scales, ScalarType::Byte, &CpuQuantizer::cast,
                              &CpuQuantizer::cast_columns);
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
  // One for each row: added up in their order, the result does not depend on the threads.
  std::vector<Sums> of_rows(static_cast<size_t>(x.rows));
  const auto count_in = [&](int64_t row, int64_t column, int64_t count, const float* each,
                            float scale) {
    Sums& sums = of_rows[static_cast<size_t>(row)];
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
      x, cast, along, floats(scales),
      [&](int64_t row, int64_t column, int64_t count, float scale) {
        count_in(row, column, count, nullptr, scale);
      },
      [&](int64_t row, int64_t count, const float* each) { count_in(row, 0, count, each, 0); });
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
