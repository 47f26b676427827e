/// Quantisation on the CPU: plain loops over contiguous memory, written to vectorise.
/// Every function works on a range, so callers split tensors over threads as they like.
#pragma once

#include <cstdint>
#include <vector>

#include "format.h"
#include "recipe.h"

namespace float8 {

/// The loops for one instruction set. `x` points to `n` elements of the named type.
struct CpuQuantizer {
  const char* name;  ///< "avx512f", "avx2" or "generic"
  /// Bits of the largest magnitude as float32. Bits compare like the magnitudes they stand for,
  /// with infinity above all numbers and NaN above infinity; start from 0.
  uint32_t (*amax_bits_f32)(const float* x, int64_t n);
  uint32_t (*amax_bits_bf16)(const uint16_t* x, int64_t n);
  /// out[i] = the byte of x[i] * scale; index by Format.
  void (*cast_f32[2])(const float* x, int64_t n, float scale, uint8_t* out);
  void (*cast_bf16[2])(const uint16_t* x, int64_t n, float scale, uint8_t* out);
  /// out[i] = round(x[i] * scale) / scale in float32: cast and back without the bytes.
  void (*emulate_f32[2])(const float* x, int64_t n, float scale, float* out);
  void (*emulate_bf16[2])(const uint16_t* x, int64_t n, float scale, float* out);
  /// largest[i] = the greater of itself and the bits of |x[i]|: columns of a matrix, row by row.
  void (*amax_columns_f32)(const float* x, int64_t n, uint32_t* largest);
  void (*amax_columns_bf16)(const uint16_t* x, int64_t n, uint32_t* largest);
  /// cast and emulate with a scale for each element.
  void (*cast_columns_f32[2])(const float* x, int64_t n, const float* scales, uint8_t* out);
  void (*cast_columns_bf16[2])(const uint16_t* x, int64_t n, const float* scales, uint8_t* out);
  void (*emulate_columns_f32[2])(const float* x, int64_t n, const float* scales, float* out);
  void (*emulate_columns_bf16[2])(const uint16_t* x, int64_t n, const float* scales, float* out);
  /// out[i] = value of the byte / scale.
  void (*dequantize[2])(const uint8_t* x, int64_t n, float scale, float* out);

  uint32_t amax_bits(const void* x, InputType type, int64_t n) const;
  void cast(const void* x, InputType type, int64_t n, float scale, Format format,
            uint8_t* out) const;
  void emulate(const void* x, InputType type, int64_t n, float scale, Format format,
               float* out) const;
  void amax_columns(const void* x, InputType type, int64_t n, uint32_t* largest) const;
  void cast_columns(const void* x, InputType type, int64_t n, const float* scales, Format format,
                    uint8_t* out) const;
  void emulate_columns(const void* x, InputType type, int64_t n, const float* scales, Format format,
                       float* out) const;
};

/// All variants that this processor can run, the fastest first. They give the same bits.
std::vector<const CpuQuantizer*> cpu_quantizers();
/// The fastest one.
const CpuQuantizer& cpu_quantizer();

/// The scale of a group with this largest magnitude, by run-time format and rule.
float scale_of(float amax, Format format, ScaleRule rule = ScaleRule::kExact);

}  // namespace float8
