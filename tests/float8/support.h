/// What the float8 tests share: a slow reference of the formats, comparisons, torch matrices.
#pragma once

#include <gtest/gtest.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "backend.h"
#include "format.h"
#include "support/golden_file.h"

namespace float8::test {

using titan::test::GoldenFile;
using titan::test::GoldenTensor;
using torch::headeronly::ScalarType;

inline const char* name_of(Format format) { return format == Format::kE4M3 ? "e4m3" : "e5m2"; }
constexpr Format kFormats[] = {Format::kE4M3, Format::kE5M2};

/// The value of a code by the definition of the formats, in double.
inline double reference_decode(Format format, int code) {
  const int mantissa_bits = format == Format::kE4M3 ? 3 : 2;
  const int bias = format == Format::kE4M3 ? 7 : 15;
  const double sign = code & 0x80 ? -1.0 : 1.0;
  const int exponent = (code & 0x7f) >> mantissa_bits;
  const int mantissa = code & ((1 << mantissa_bits) - 1);
  if (format == Format::kE4M3 && (code & 0x7f) == 0x7f) return std::nan("");
  if (format == Format::kE5M2 && exponent == 31) return mantissa == 0 ? sign * INFINITY : std::nan("");
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(1.0 + std::ldexp(mantissa, -mantissa_bits), exponent - bias);
}

/// The nearest code, ties to the even one, saturating; found by looking at all of them.
inline uint8_t reference_encode(Format format, double value) {
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value)) return 0x7f | sign;
  const int largest = format == Format::kE4M3 ? 0x7e : 0x7b;
  const double magnitude = std::fabs(value);
  if (magnitude >= reference_decode(format, largest)) return static_cast<uint8_t>(largest | sign);
  int best = 0;
  for (int code = 1; code <= largest; ++code) {
    const double distance = std::fabs(reference_decode(format, code) - magnitude);
    const double best_distance = std::fabs(reference_decode(format, best) - magnitude);
    if (distance < best_distance || (distance == best_distance && code % 2 == 0)) best = code;
  }
  return static_cast<uint8_t>(best | sign);
}

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
inline std::string difference(Format format, const std::vector<uint8_t>& got, const std::vector<uint8_t>& expected) {
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

inline InputType input_type_of(const GoldenTensor& tensor) {
  return tensor.dtype == "BF16" ? InputType::kBFloat16 : InputType::kFloat32;
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

/// A call for both gradients.
inline ForwardCall forward_call(const Matrix& x, const Matrix& w) {
  ForwardCall call{x, w};
  call.needs_x = call.needs_w = true;
  return call;
}
inline BackwardCall backward_call(const Matrix& grad_y, const Forward& forward, int64_t in_features) {
  BackwardCall call{grad_y, forward.kept};
  call.in_features = in_features;
  call.needs_x = call.needs_w = true;
  return call;
}

/// A layer's results, forward and backward.
struct Layer {
  Matrix y, grad_x, grad_w;
  Forward forward;
};
inline Layer run_layer(Backend& backend, const Matrix& x, const Matrix& w, const Matrix& grad_y) {
  const Forward forward = backend.forward(forward_call(x, w));
  const Backward backward = backend.backward(backward_call(grad_y, forward, x.size(1)));
  return {forward.y, *backward.x, *backward.w, forward};
}

inline int64_t count_nan(const std::vector<double>& values) {
  int64_t count = 0;
  for (const double value : values) count += std::isnan(value);
  return count;
}

}  // namespace float8::test
