/// What a device cast must give: the CPU's scales and bytes, which equal the reference data bit for
/// bit, laid out as cuBLASLt wants them. No test framework.
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "cpu_cast.h"
#include "cuda/device_cast.h"
#include "cuda/kernels.h"
#include "float8/compare.h"
#include "scale.h"

namespace float8::test {

struct Kind {
  const char* name;
  Cast cast;
  int64_t multiple;  ///< of rows and columns
};
inline const Kind kKinds[] = {
    {"tensor e4m3", {Granularity::kTensor, Format::kE4M3, ScaleRule::kExact}, 16},
    {"tensor e5m2", {Granularity::kTensor, Format::kE5M2, ScaleRule::kExact}, 16},
    {"tensor pow2", {Granularity::kTensor, Format::kE4M3, ScaleRule::kPowerOfTwo}, 16},
    {"vector", {Granularity::kVector, Format::kE4M3, ScaleRule::kPowerOfTwo}, 16},
    {"vector f32", {Granularity::kVector, Format::kE4M3, ScaleRule::kExact}, 16},
    {"1x128", {Granularity::k1x128, Format::kE4M3, ScaleRule::kExact}, 16},
    {"1x128 pow2", {Granularity::k1x128, Format::kE4M3, ScaleRule::kPowerOfTwo}, 16},
    {"128x128", {Granularity::k128x128, Format::kE4M3, ScaleRule::kExact}, 16},
    {"1x32", {Granularity::k1x32, Format::kE4M3, ScaleRule::kRoundUpE8M0}, 32},
};

inline std::vector<uint8_t> bytes_of(const Matrix& a) {
  const auto* data = static_cast<const uint8_t*>(a.const_data_ptr());
  return {data, data + a.numel()};
}
inline std::vector<float> floats_of(const Matrix& a) {
  const auto* data = static_cast<const float*>(a.const_data_ptr());
  return {data, data + a.numel()};
}

inline std::vector<uint8_t> transposed(const std::vector<uint8_t>& codes, int64_t rows,
                                       int64_t columns) {
  std::vector<uint8_t> result(codes.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      result[static_cast<size_t>(j * rows + i)] = codes[static_cast<size_t>(i * columns + j)];
  return result;
}

/// What undoes scale (line, block) of the CPU's scales, laid out as cuBLASLt wants it. `lines`
/// lines of `length` elements; `at(line, block)` finds the CPU's scale.
template <class At>
std::vector<float> expected_scales(const Cast& cast, int64_t lines, int64_t length, const At& at) {
  const int64_t block = block_length(cast.granularity),
                across = block == 0 ? 1 : device::divide_up(length, block);
  std::vector<float> out;
  switch (cast.granularity) {
    case Granularity::kTensor: return {1.0F / at(0, 0)};
    case Granularity::kVector:
      for (int64_t line = 0; line < lines; ++line) out.push_back(1.0F / at(line, 0));
      return out;
    case Granularity::k1x128:
      for (int64_t b = 0; b < across; ++b)
        for (int64_t line = 0; line < lines; ++line) out.push_back(1.0F / at(line, b));
      return out;
    case Granularity::k128x128:
      out.assign(static_cast<size_t>(device::divide_up(lines, 128) * device::round_up(across, 4)),
                 0.0F);
      for (int64_t i = 0; i < device::divide_up(lines, 128); ++i)
        for (int64_t b = 0; b < across; ++b)
          out[static_cast<size_t>(i * device::round_up(across, 4) + b)] = 1.0F / at(i * 128, b);
      return out;
    default: return out;
  }
}

/// A matrix with rows of very different sizes, zeros, ties and, if asked for, what is not finite.
inline Matrix sample(std::mt19937& random, int64_t rows, int64_t columns, ScalarType type,
                     bool poisoned) {
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i) {
    const float size = std::ldexp(1.0F, static_cast<int>(random() % 60) - 40);
    for (int64_t j = 0; j < columns; ++j)
      values[static_cast<size_t>(i * columns + j)] = random() % 11 == 0  ? 0.0F
                                                     : random() % 7 == 0 ? size
                                                                         : normal(random) * size;
  }
  if (poisoned) {
    values[random() % values.size()] = NAN;
    values[random() % values.size()] = -INFINITY;
  }
  if (type == ScalarType::Float) return make_matrix(values.data(), rows, columns, type);
  std::vector<uint16_t> halves;
  for (const float value : values) halves.push_back(static_cast<uint16_t>(bits_of(value) >> 16));
  return make_matrix(halves.data(), rows, columns, type);
}

/// x with rows of zeros below it.
inline Matrix with_zero_rows(const Matrix& x, int64_t rows) {
  const int64_t padding[4] = {0, 0, 0, rows - x.size(0)};
  return torch::stable::pad(x, {padding, 4});
}

/// What tells one layout of a device cast, whose tensors are on the CPU, from the CPU's cast of the
/// padded matrix `x`;
/// "" if nothing does.
inline std::string layout_difference(const Matrix& x, const Cast& cast, Along along,
                                     const device::Operand& got) {
  const int64_t rows = x.size(0), columns = x.size(1);
  const Matrix scales = scales_of(x, cast, along);
  std::vector<uint8_t> codes = bytes_of(cast_to_bytes(x, cast, along, scales));
  const bool by_rows = along == Along::kColumns;
  if (!by_rows) codes = transposed(codes, rows, columns);
  if (const std::string found = difference(cast.format, bytes_of(got.bytes), codes); !found.empty())
    return "bytes: " + found;

  const std::vector<float> cpu = floats_of(scales);
  const int64_t block = block_length(cast.granularity);
  const auto at = [&](int64_t line, int64_t b) -> float {
    if (cast.granularity == Granularity::kTensor) return cpu[0];
    if (cast.granularity == Granularity::k128x128)
      return by_rows ? cpu[static_cast<size_t>(line / 128 * device::divide_up(columns, 128) + b)]
                     : cpu[static_cast<size_t>(b * device::divide_up(columns, 128) + line / 128)];
    return by_rows ? cpu[static_cast<size_t>(
                         line * (block == 0 ? 1 : device::divide_up(columns, block)) + b)]
                   : cpu[static_cast<size_t>(b * columns + line)];
  };
  const int64_t lines = by_rows ? rows : columns, length = by_rows ? columns : rows;
  if (cast.granularity != Granularity::k1x32) {
    const std::string found =
        difference(floats_of(got.scales), expected_scales(cast, lines, length, at));
    return found.empty() ? "" : "scales: " + found;
  }
  const std::vector<uint8_t> exponents = bytes_of(got.scales);
  const int64_t blocks = device::divide_up(length, 32);
  if (exponents.size() != static_cast<size_t>(device::swizzled_size(lines, blocks)))
    return "scales: sizes differ";
  std::vector<bool> used(exponents.size());
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t b = 0; b < blocks; ++b) {
      const auto index = static_cast<size_t>(device::swizzled(line, b, blocks));
      if (!same_float(scale_of_e8m0(exponents[index]), at(line, b)))
        return "scale of block " + std::to_string(b) + " of line " + std::to_string(line) +
               ": exponent " + std::to_string(exponents[index]);
      used[index] = true;
    }
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i] && exponents[i] != 0)
      return "scales: byte " + std::to_string(i) + " belongs to no block and is not 0";
  return "";
}

}  // namespace float8::test
