#include "device_cast.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "../matrix.h"
#include "../scale.h"

namespace float8::device {
namespace {

using torch::headeronly::ScalarType;

float* floats(Matrix& a) { return static_cast<float*>(a.mutable_data_ptr()); }
int32_t* ints(Matrix& a) { return static_cast<int32_t*>(a.mutable_data_ptr()); }

void fill_zero(Matrix& words, void* stream) {
  check_launch(launch_fill({ints(words), words.numel(), nullptr}, stream), "clear memory");
}

/// Scales for groups along a line of `length` elements, of which there are `lines`.
Matrix new_scales(const Matrix& like, Granularity granularity, int64_t lines, int64_t length,
                  void* stream) {
  switch (granularity) {
    case Granularity::kVector: return new_vector(like, lines, ScalarType::Float);
    case Granularity::k1x128:
      return new_vector(like, lines * divide_up(length, 128), ScalarType::Float);
    case Granularity::k1x32:
      return new_vector(like, swizzled_size(lines, divide_up(length, 32)), ScalarType::Byte);
    case Granularity::k128x128: {
      Matrix scales = new_vector(like, divide_up(lines, 128) * round_up(divide_up(length, 128), 4),
                                 ScalarType::Float);
      fill_zero(scales, stream);
      return scales;
    }
    default: return new_vector(like, 1, ScalarType::Float);
  }
}

/// A cast being prepared: its arguments, and the memory that they point to.
struct Preparation {
  CastArguments arguments{};
  std::optional<Matrix> bits;  ///< int32: kTensor [3], the largest magnitude and what the cast
                               ///< sees; kVector, one a line
};

/// Finds out what the scales depend on, where that takes a read of its own.
Preparation prepare(const Matrix& x, const Cast& cast, const CastRequest& request, bool rows,
                    bool columns) {
  Preparation made;
  CastArguments& a = made.arguments;
  a.x = x.const_data_ptr();
  a.rows = rows_of(x);
  a.columns = columns_of(x);
  a.padded_rows = request.padded_rows;
  a.power_of_two = cast.rule == ScaleRule::kPowerOfTwo;
  if (cast.granularity == Granularity::kTensor) {
    made.bits = new_vector(x, 3, ScalarType::Int);
    fill_zero(*made.bits, request.stream);
    if (request.stored)
      a.stored_scale = static_cast<const float*>(request.stored->const_data_ptr());
    check_launch(launch_amax({a.x, x.numel(), ints(*made.bits), a.stored_scale}, input_type(x),
                             request.stream),
                 "find the largest magnitude");
    a.amax_bits = ints(*made.bits);
    if (request.stored) a.seen = ints(*made.bits) + 1;
  } else if (cast.granularity == Granularity::kVector) {
    made.bits = new_vector(x, a.padded_rows + a.columns, ScalarType::Int);
    fill_zero(*made.bits, request.stream);
    int32_t* row_amax = ints(*made.bits);
    int32_t* column_amax = row_amax + a.padded_rows;
    check_launch(launch_vector_amax({a.x, a.rows, a.columns, rows ? row_amax : nullptr,
                                     columns ? column_amax : nullptr},
                                    input_type(x), request.stream),
                 "find the largest magnitudes of rows and columns");
    a.row_amax = row_amax;
    a.column_amax = column_amax;
  }
  return made;
}

/// One launch: both layouts, or one of them, with one granularity.
void cast_once(const Matrix& x, const Cast& cast, bool rows, bool columns,
               const CastRequest& request, Quantised& result) {
  void* stream = request.stream;
  const bool whole = cast.granularity == Granularity::kTensor;
  Preparation prepared = prepare(x, cast, request, rows, columns);
  CastArguments& a = prepared.arguments;
  const auto layout = [&](int64_t lines, int64_t length) {
    return Operand{new_matrix(x, lines, length, ScalarType::Byte),
                   new_scales(x, cast.granularity, lines, length, stream), cast.format,
                   cast.granularity};
  };
  if (rows) {
    result.rows = layout(a.padded_rows, a.columns);
    a.row_out = static_cast<uint8_t*>(result.rows->bytes.mutable_data_ptr());
    a.row_scales = result.rows->scales.mutable_data_ptr();
  }
  if (columns) {
    result.columns = layout(a.columns, a.padded_rows);
    // The whole tensor has one scale, whichever way it lies.
    if (whole && rows) result.columns->scales = result.rows->scales;
    a.column_out = static_cast<uint8_t*>(result.columns->bytes.mutable_data_ptr());
    (whole ? a.row_scales : a.column_scales) = result.columns->scales.mutable_data_ptr();
  }
  std::optional<Matrix> partial_sums;
  if (request.sums && !result.sums) {
    partial_sums = new_matrix(x, divide_up(a.rows, kTile), a.columns, ScalarType::Float);
    a.column_sums = floats(*partial_sums);
  }
  check_launch(launch_cast(a, input_type(x), cast.format, cast.granularity, stream),
               "cast a tensor");
  if (partial_sums) {
    result.sums = new_vector(x, a.columns, x.scalar_type());
    check_launch(launch_sum({a.column_sums, rows_of(*partial_sums), a.columns,
                             result.sums->mutable_data_ptr()},
                            input_type(x), stream),
                 "add up a gradient's rows");
  }
  if (a.seen) {
    result.amax = new_vector(x, 1, ScalarType::Float);
    check_launch(
        launch_finish({a.seen, static_cast<float*>(a.row_scales), floats(*result.amax)}, stream),
        "note an amax");
  }
}

Matrix on_cpu(const Matrix& a) {
  return a.is_cpu()
             ? a
             : torch::stable::to(a, torch::stable::Device(torch::headeronly::DeviceType::CPU));
}

}  // namespace

void check_launch(const char* error, const char* doing) {
  if (error)
    throw titan::sdk::Error(TITAN_FAILED,
                            std::string("float8 failed to ") + doing + " on the GPU: " + error,
                            "run with CUDA_LAUNCH_BLOCKING=1 to find the first failure");
}

Quantised quantise(const Matrix& x, const CastRequest& request) {
  Quantised result;
  const auto& rows = request.rows;
  const auto& columns = request.columns;
  if (rows && columns && rows->granularity == columns->granularity) {
    cast_once(x, *rows, true, true, request, result);
    return result;
  }
  if (rows) cast_once(x, *rows, true, false, request, result);
  if (columns) cast_once(x, *columns, false, true, request, result);
  // Sums alone: a cast that writes nothing.
  if (request.sums && !result.sums)
    cast_once(x, Cast{Granularity::k128x128}, false, false, request, result);
  return result;
}

CastReport measure_cast(const Matrix& x, const Cast& cast, const std::optional<Matrix>& stored,
                        void* stream) {
  CastRequest request;
  request.stored = stored;
  request.padded_rows = round_up(rows_of(x), 32);
  request.stream = stream;
  Preparation prepared = prepare(x, cast, request, true, false);
  CastArguments& a = prepared.arguments;
  Matrix scales = new_scales(x, cast.granularity, a.padded_rows, a.columns, stream);
  a.row_scales = scales.mutable_data_ptr();
  Matrix measures =
      new_matrix(x, tile_count(a.padded_rows, a.columns), kMeasures, ScalarType::Float);
  a.measures = floats(measures);
  check_launch(launch_measure(a, input_type(x), cast.format, cast.granularity, stream),
               "measure a cast");

  const Matrix counted = on_cpu(measures), inverse = on_cpu(scales);
  const auto* values = static_cast<const float*>(counted.const_data_ptr());
  double sums[kMeasures] = {};
  for (int64_t tile = 0; tile < rows_of(counted); ++tile)
    for (int m = 0; m < kMeasures; ++m) {
      const double value = values[tile * kMeasures + m];
      // A NaN is above all, and stays.
      if (m != kLargest)
        sums[m] += value;
      else if (!(value <= sums[m]) && !std::isnan(sums[m]))
        sums[m] = value;
    }
  CastReport report;
  report.amax = sums[kLargest];
  report.scale_min = INFINITY;
  const int64_t blocks = divide_up(a.columns, std::max<int64_t>(block_length(cast.granularity), 1));
  const auto offer = [&](double scale) {
    report.scale_min = std::min(report.scale_min, scale);
    report.scale_max = std::max(report.scale_max, scale);
  };
  const auto* floats_of = static_cast<const float*>(inverse.const_data_ptr());
  const auto* bytes_of = static_cast<const uint8_t*>(inverse.const_data_ptr());
  switch (cast.granularity) {
    case Granularity::kTensor: offer(1.0 / floats_of[0]); break;
    case Granularity::k1x32:
      for (int64_t row = 0; row < a.rows; ++row)
        for (int64_t block = 0; block < blocks; ++block)
          offer(scale_of_e8m0(bytes_of[swizzled(row, block, blocks)]));
      break;
    case Granularity::k128x128:
      for (int64_t row = 0; row < divide_up(a.rows, 128); ++row)
        for (int64_t block = 0; block < blocks; ++block)
          offer(1.0 / floats_of[row * round_up(blocks, 4) + block]);
      break;
    default:
      for (int64_t block = 0; block < (cast.granularity == Granularity::k1x128 ? blocks : 1);
           ++block)
        for (int64_t row = 0; row < a.rows; ++row)
          offer(1.0 / floats_of[block * a.padded_rows + row]);
  }
  if (sums[kNonZero] > 0) report.underflow = sums[kLost] / sums[kNonZero];
  report.saturation = sums[kSaturated] / static_cast<double>(x.numel());
  report.sqnr_db = 10 * std::log10(sums[kSignal] / sums[kNoise]);
  return report;
}

Matrix broadcast_scale(const Matrix& scale, int64_t size, void* stream) {
  Matrix each = new_vector(scale, size, ScalarType::Float);
  check_launch(
      launch_fill({ints(each), size, static_cast<const int32_t*>(scale.const_data_ptr())}, stream),
      "spread a scale");
  return each;
}

}  // namespace float8::device
