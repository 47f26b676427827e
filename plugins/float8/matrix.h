/// Small helpers over torch::stable::Tensor that both backends use.
#pragma once

#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>

#include <array>
#include <string>
#include <titan/titan_sdk.hpp>

#include "backend.h"
#include "format.h"

namespace float8 {

inline int64_t rows_of(const Matrix& a) { return a.size(0); }
inline int64_t columns_of(const Matrix& a) { return a.size(1); }

/// An uninitialised matrix on the device of `like`, from torch's allocator.
inline Matrix new_matrix(const Matrix& like, int64_t rows, int64_t columns,
                         torch::headeronly::ScalarType type) {
  const std::array<int64_t, 2> shape{rows, columns};
  return torch::stable::new_empty(like, {shape.data(), shape.size()}, type);
}
inline Matrix new_vector(const Matrix& like, int64_t size, torch::headeronly::ScalarType type) {
  const std::array<int64_t, 1> shape{size};
  return torch::stable::new_empty(like, {shape.data(), shape.size()}, type);
}

/// Throws TITAN_UNSUPPORTED for anything but float32 and bfloat16.
inline InputType input_type(const Matrix& a) {
  const auto type = a.scalar_type();
  if (type == torch::headeronly::ScalarType::Float) return InputType::kFloat32;
  if (type == torch::headeronly::ScalarType::BFloat16) return InputType::kBFloat16;
  throw titan::sdk::Error(TITAN_UNSUPPORTED,
                          std::string("float8 quantises float32 and bfloat16, and got ") +
                              torch::headeronly::toString(type),
                          "set training.dtype to float32 or bfloat16");
}

}  // namespace float8
