/// Products of matrices that went through fp8, on the CPU: of float32 values, or of bfloat16 ones
/// where the processor multiplies those faster.
#pragma once

#include "cpu_cast.h"

namespace float8 {

/// Whether a product of bfloat16 matrices that is summed in float32 can be had: MKL's, which
/// LibTorch brings along on x86.
bool has_narrow_products();
/// Whether it is the faster one here too: the processor has AVX512-BF16 or AMX.
bool prefers_narrow_products();

/// What a cast left, and how it was made. With CastTo::kFloat32 the scales are undone in the
/// values, with CastTo::kNarrow unless is_undone() says so they are not.
struct CpuOperand {
  Matrix values;  ///< float32 or bfloat16, row-major as it was before the cast
  Matrix scales;  ///< as scales_of gives them; not read where they are undone
  Cast cast;
  bool transposed = false;  ///< the product takes its transpose
};

/// left [M, K] right [K, N] in float32, both operands after their transposition and of one type.
///
/// bfloat16: every product of two fp8 values is exact in float32, so only the order of summation
/// differs from that of dequantised operands. A scale of a whole tensor is applied with the sum of
/// all K, and so are scales of rows of left and columns of right; scales of blocks of K with the
/// sum of each block, in float32, as blockwise kernels of GPUs do.
/// Splits its work over torch's threads itself.
Matrix multiply(const CpuOperand& left, const CpuOperand& right);

}  // namespace float8
