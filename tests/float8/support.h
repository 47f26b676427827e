/// What the float8 tests share: a slow reference of the formats, layers, and compare.h.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "backend.h"
#include "float8/compare.h"
#include "format.h"
#include "support/golden_file.h"

namespace float8::test {

using titan::test::GoldenFile;

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
  if (format == Format::kE5M2 && exponent == 31)
    return mantissa == 0 ? sign * INFINITY : std::nan("");
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

inline InputType input_type_of(const GoldenTensor& tensor) {
  return tensor.dtype == "BF16" ? InputType::kBFloat16 : InputType::kFloat32;
}

/// A call for both gradients.
inline ForwardCall forward_call(const Matrix& x, const Matrix& w) {
  ForwardCall call{x, w};
  call.needs_x = call.needs_w = true;
  return call;
}
inline BackwardCall backward_call(const Matrix& grad_y, const Forward& forward,
                                  int64_t in_features) {
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

}  // namespace float8::test
