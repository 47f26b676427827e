/// Matrices through a recipe's cast on the CPU: scales, bytes, and the way back in one step.
#pragma once

#include "backend.h"
#include "recipe.h"

namespace float8 {

/// The dimension of a [rows, columns] matrix that a product sums over, along which groups share a
/// scale.
enum class Along {
  kColumns,  ///< groups lie within a row
  kRows,     ///< groups lie within a column
};

/// One float32 scale for each group of x [rows, columns], float32 or bfloat16, contiguous. L: the
/// group's length along the summed dimension.
///   kTensor [1]; kVector [rows] or, along rows, [columns]; 1xL [rows, ceil(columns / L)] or, along
///   rows, [ceil(rows / L), columns]; k128x128 [ceil(rows / 128), ceil(columns / 128)].
/// A group at the edge is as long as what is left of it: the same as one padded with zeros.
Matrix scales_of(const Matrix& x, const Cast& cast, Along along);

/// x * scale rounded to the format / scale, float32. `scales`: what scales_of gave, or for kTensor
/// any [1].
Matrix emulate_cast(const Matrix& x, const Cast& cast, Along along, const Matrix& scales);

/// The bytes of the format, uint8 in the shape of x.
Matrix cast_to_bytes(const Matrix& x, const Cast& cast, Along along, const Matrix& scales);

/// x * scale rounded to the format, in bfloat16, which holds every value of both formats. Scales
/// that are powers of two are undone in it, which is exact down to 2^-126, below which bfloat16
/// products count as zero; others are left for the product. See is_undone().
Matrix narrow_cast(const Matrix& x, const Cast& cast, Along along, const Matrix& scales);
bool is_undone(const Cast& cast);

/// What a cast makes.
enum class CastTo {
  kBytes,    ///< cast_to_bytes
  kFloat32,  ///< emulate_cast
  kNarrow,   ///< narrow_cast
};
struct Scaled {
  Matrix values, scales;
};
/// scales_of and a cast by them, in one pass over memory where groups are small.
Scaled scale_and_cast(const Matrix& x, const Cast& cast, Along along, CastTo to);

/// The largest magnitude of x; infinity or NaN if it has one. With `finite_only` these are passed
/// over.
float find_amax(const Matrix& x, bool finite_only = false);

/// What the values of a cast lose.
struct CastLoss {
  double underflow = 0;   ///< share of the non-zero elements that became zero
  double saturation = 0;  ///< share of all elements beyond the format's largest value
  double sqnr_db = 0;     ///< 10 log10(sum x^2 / sum (x - cast(x))^2); infinite if nothing is lost
};
CastLoss loss_of_cast(const Matrix& x, const Cast& cast, Along along, const Matrix& scales);

}  // namespace float8
