/// Matrices into fp8 on the device: what a product needs of an operand, in one read of it where
/// that can be.
#pragma once

#include <optional>

#include "../backend.h"
#include "kernels.h"

namespace float8::device {

/// One operand of a product: rows of bytes along the dimension that is summed over, and what undoes
/// their scales.
struct Operand {
  Matrix bytes;   ///< uint8 [rows, summed]
  Matrix scales;  ///< as CastArguments has them
  Format format = Format::kE4M3;
  Granularity granularity = Granularity::kNone;
};

struct Quantised {
  std::optional<Operand> rows;     ///< x as it lies, padded with rows of zeros
  std::optional<Operand> columns;  ///< x transposed
  std::optional<Matrix> amax;      ///< with `stored`: float32 [1], the largest finite magnitude
  std::optional<Matrix> sums;      ///< with `sums`: [columns] in the type of x, added up in float32
};

struct CastRequest {
  std::optional<Cast> rows = std::nullopt,
                      columns =
                          std::nullopt;  ///< how each layout is quantised; none: it is not wanted
  std::optional<Matrix> stored = std::nullopt;  ///< recipe delayed: float32 [1]
  bool sums = false;                            ///< the sum over all rows
  int64_t padded_rows = 0;
  void* stream = nullptr;
};

/// x [rows, columns], columns a multiple of 16 (k1x32: 32), aligned to 16 bytes, rows > 0. Both
/// layouts come from one read if they share a granularity. Nothing waits for the device. Throws
/// TITAN_FAILED with CUDA's words.
Quantised quantise(const Matrix& x, const CastRequest& request);

/// What the cast of x along its rows loses; `stored` as above. Waits for the device.
CastReport measure_cast(const Matrix& x, const Cast& cast, const std::optional<Matrix>& stored,
                        void* stream);

/// A scale of a whole tensor, [1], as one for each of `size` rows.
Matrix broadcast_scale(const Matrix& scale, int64_t size, void* stream);

/// Throws TITAN_FAILED if a launcher returned an error.
void check_launch(const char* error, const char* doing);

}  // namespace float8::device
