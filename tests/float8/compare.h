/// Comparisons of codes, scales and results, and torch matrices from memory. No test framework.
#pragma once

#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "backend.h"
#include "format.h"
#include "support/golden_tensor.h"

namespace float8::test {

using titan::test::GoldenTensor;
using torch::headeronly::ScalarType;

/// Codes are the same, or both are NaN (whose sign and payload differ between devices).
inline bool same_code(Format format, uint8_t a, uint8_t b) {
  const auto is_nan = [&](uint8_t code) {
    return format == Format::kE4M3 ? (code & 0x7f) == 0x7f : (code & 0x7f) > 0x7c;
  };
  return a == b || (is_nan(a) && is_nan(b));
}

/// Bits are the same, or both are NaN.
inline bool same_float(float a, float b) {
  return bits_of(a) == bits_of(b) || (std::isnan(a) && std::isnan(b));
}

/// The first difference as text, or "".
inline std::string difference(Format format, const std::vector<uint8_t>& got,
                              const std::vector<uint8_t>& expected) {
  if (got.size() != expected.size()) return "sizes differ";
  for (size_t i = 0; i < got.size(); ++i)
    if (!same_code(format, got[i], expected[i]))
      return "element " + std::to_string(i) + ": code " + std::to_string(got[i]) + ", expected " +
             std::to_string(expected[i]);
  return "";
}
inline std::string difference(const std::vector<float>& got, const std::vector<float>& expected) {
  if (got.size() != expected.size()) return "sizes differ";
  for (size_t i = 0; i < got.size(); ++i)
    if (!same_float(got[i], expected[i]))
      return "element " + std::to_string(i) + ": " + std::to_string(got[i]) + ", expected " +
             std::to_string(expected[i]);
  return "";
}

inline Matrix make_matrix(const void* data, int64_t rows, int64_t columns, ScalarType type) {
  const int64_t shape[2] = {rows, columns};
  Matrix matrix = torch::stable::empty({shape, 2}, type);
  const size_t element_size = type == ScalarType::Float ? 4 : 2;
  std::memcpy(matrix.mutable_data_ptr(), data, static_cast<size_t>(rows * columns) * element_size);
  return matrix;
}

/// Leading dimensions flattened into rows.
inline Matrix make_matrix(const GoldenTensor& tensor) {
  const int64_t columns = tensor.shape.back();
  return make_matrix(tensor.bytes.data(), tensor.numel() / columns, columns,
                     tensor.dtype == "BF16" ? ScalarType::BFloat16 : ScalarType::Float);
}

inline std::vector<double> values_of(const Matrix& matrix) {
  std::vector<double> values(static_cast<size_t>(matrix.numel()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = matrix.scalar_type() == ScalarType::Float
                    ? static_cast<const float*>(matrix.const_data_ptr())[i]
                    : load_float(static_cast<const uint16_t*>(matrix.const_data_ptr())[i]);
  return values;
}

/// Largest |got - expected| over the largest |expected|; infinity if sizes differ or one of the two
/// is NaN where the other is not.
inline double relative_error(const std::vector<double>& got, const std::vector<double>& expected) {
  if (got.size() != expected.size()) return INFINITY;
  double error = 0, largest = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) != std::isnan(expected[i])) return INFINITY;
    if (std::isnan(got[i])) continue;
    error = std::max(error, std::fabs(got[i] - expected[i]));
    largest = std::max(largest, std::fabs(expected[i]));
  }
  return error == 0 ? 0 : error / largest;
}

inline int64_t count_nan(const std::vector<double>& values) {
  int64_t count = 0;
  for (const double value : values) count += std::isnan(value);
  return count;
}

}  // namespace float8::test
