/// The kernels of the device backend, as functions that queue them.
///
/// All of them queue work on `stream`, a cudaStream_t of the current device, and return null or the
/// text of CUDA's error; none waits. Pointers are device memory, aligned to 16 bytes; columns are
/// multiples of
/// 16. None of this has ever run on a GPU: tests run it on a CPU (see launch.h).
#pragma once

#include "../format.h"
#include "../recipe.h"

namespace float8::device {

/// Rows and columns of the tile that one block of threads casts.
constexpr int kTile = 128;
constexpr int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return divide_up(a, b) * b; }

/// Where the e8m0 scale of (row, block) lies, for a matrix with `blocks` blocks of 32 a row:
/// cuBLASLt wants tiles of 128 x 4 scales, within which row r is at 16 * (r % 32) + 4 * (r / 32)
/// (cuBLAS manual, "1D block scaling factors layout").
TITAN_HD int64_t swizzled(int64_t row, int64_t block, int64_t blocks) {
  const int64_t tile = row / 128 * ((blocks + 3) / 4) + block / 4;
  return tile * 512 + row % 32 * 16 + row % 128 / 32 * 4 + block % 4;
}
constexpr int64_t swizzled_size(int64_t rows, int64_t blocks) {
  return round_up(rows, 128) * round_up(blocks, 4);
}

/// One matrix to cast, read once. What is null is not written.
///
/// Scales that are written are those that a product is multiplied by, 1 / scale:
///   kTensor   float32 [1], in row_scales alone
///   kVector   float32 [padded_rows] and [columns]
///   k1x128    float32, block of (row, b) at b * rows + row, rows being padded_rows and columns
///   k128x128  float32, block (i, j) at i * round_up(blocks in j, 4) + j; column_scales is the
///   transpose k1x32     e8m0 bytes, swizzled, zero where there is nothing
struct CastArguments {
  const void* x;  ///< [rows, columns], row-major
  int64_t rows, columns;
  int64_t
      padded_rows;  ///< >= rows, a multiple of 16 (k1x32: 32); what lies beyond `rows` counts as 0
  bool power_of_two;          ///< scales are rounded down to powers of two
  uint8_t* row_out;           ///< [padded_rows, columns]
  uint8_t* column_out;        ///< [columns, padded_rows]
  void* row_scales;           ///< for groups along a row
  void* column_scales;        ///< for groups along a column
  const int32_t* amax_bits;   ///< kTensor: bits of the largest magnitude
  const float* stored_scale;  ///< kTensor: the scale to use unless it is 0; null: none
  int32_t* seen;  ///< kTensor: [2], raised to the bits of the largest finite magnitude, and of any
  const int32_t* row_amax;     ///< kVector: [padded_rows]
  const int32_t* column_amax;  ///< kVector: [columns]
  float* column_sums;  ///< [divide_up(rows, kTile), columns]: sums of x over the rows of each tile
  float* measures;     ///< of launch_measure: [tiles, kMeasures]
};
/// `granularity`: kTensor with either format, the others with e4m3.
const char* launch_cast(const CastArguments& arguments, InputType type, Format format,
                        Granularity granularity, void* stream);

/// The cast along rows (row_scales, no outputs) that counts for each tile of 128 x 128 what it
/// loses.
enum Measure { kNonZero, kLost, kSaturated, kSignal, kNoise, kLargest, kMeasures };
const char* launch_measure(const CastArguments& arguments, InputType type, Format format,
                           Granularity granularity, void* stream);
constexpr int64_t tile_count(int64_t rows, int64_t columns) {
  return divide_up(rows, kTile) * divide_up(columns, kTile);
}

/// *amax_bits is raised to the bits of the largest magnitude of n elements. Bits of magnitudes are
/// ordered like them, infinity above all numbers and NaN above infinity. With `unless` it does
/// nothing where *unless is not 0.
struct AmaxArguments {
  const void* x;
  int64_t n;  ///< a multiple of 8
  int32_t* amax_bits;
  const float* unless;
};
const char* launch_amax(const AmaxArguments& arguments, InputType type, void* stream);

/// The same for each row and each column of x [rows, columns]; null: not wanted.
struct VectorAmaxArguments {
  const void* x;
  int64_t rows, columns;
  int32_t* row_amax;     ///< [rows]
  int32_t* column_amax;  ///< [columns]
};
const char* launch_vector_amax(const VectorAmaxArguments& arguments, InputType type, void* stream);

/// out[0 .. n) = *value, or 0 if value is null.
struct FillArguments {
  int32_t* out;
  int64_t n;
  const int32_t* value;
};
const char* launch_fill(const FillArguments& arguments, void* stream);

/// After a cast with a stored scale: *amax = the largest finite magnitude; where the tensor had an
/// infinity or a NaN, *inverse_scale becomes NaN, so that the saturated codes cannot hide it.
struct FinishArguments {
  const int32_t* seen;  ///< [2], from the cast
  float* inverse_scale;
  float* amax;
};
const char* launch_finish(const FinishArguments& arguments, void* stream);

/// *slots[i] is raised to *amax[i].
struct StageArguments {
  const float* amax[2];
  float* slots[2];
  int count;
};
const char* launch_stage(const StageArguments& arguments, void* stream);

/// One step of recipe delayed for up to 64 states at once; see update_delayed() in delayed.h.
struct UpdateArguments {
  static constexpr int kStates = 64;
  struct State {
    float* history;
    float* scale;
    float largest;  ///< of the format, times 2^-margin
  };
  State states[kStates];
  int count;
  int64_t length;
  bool most_recent;
};
const char* launch_update(const UpdateArguments& arguments, void* stream);

/// y[r, c] = y[r, c] * (row_scales[r] * column_scales[c]) + bias[c], in float32 and rounded once;
/// null: without.
struct EpilogueArguments {
  void* y;
  int64_t rows, columns;
  const float* row_scales;
  const float* column_scales;
  const void* bias;  ///< [columns] in the type of y
};
const char* launch_epilogue(const EpilogueArguments& arguments, InputType type, void* stream);

/// out[c] = the sum of column_sums[0 .. tiles)[c], in the order of the tiles: the same in every
/// run.
struct SumArguments {
  const float* column_sums;
  int64_t tiles, columns;
  void* out;
};
const char* launch_sum(const SumArguments& arguments, InputType type, void* stream);

}  // namespace float8::device
