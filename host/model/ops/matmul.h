/// Products of matrices that are stored narrow and added up wide.
#pragma once

#include <ATen/core/TensorBody.h>

namespace titan::model {

/// Whether this CPU multiplies bfloat16 in hardware (AMX or AVX512-BF16). Where it does not,
/// torch's bfloat16 products are 10 times slower than float32 ones.
bool multiplies_bfloat16();

/// a [M, K] times b [K, N], of one type, either of them maybe a transposed view. Added up in
/// float32 (float64 for float64) and rounded once, to `type`.
at::Tensor matmul(const at::Tensor& a, const at::Tensor& b, at::ScalarType type);

/// sum [M, N], float32 and contiguous, = or += a b.
void matmul_into(at::Tensor& sum, const at::Tensor& a, const at::Tensor& b, bool add);

}  // namespace titan::model
