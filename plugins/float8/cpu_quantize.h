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
  uint32_t amax_bits(const void* x, InputType type, int64_t n) const;
  /// largest[s] = the greater of itself and amax_bits() of segment s: `length` elements each, the
  /// last one what is left.
  void amax_segments(const void* x, InputType type, int64_t n, int64_t length,
                     uint32_t* largest) const;
  /// largest[i] = the greater of itself and the bits of |x[i]|: columns of a matrix, row by row.
  void amax_columns(const void* x, InputType type, int64_t n, uint32_t* largest) const;

  /// out[i] = the byte of x[i] * scale.
  void cast(const void* x, InputType type, int64_t n, float scale, Format format,
            uint8_t* out) const;
  void cast_columns(const void* x, InputType type, int64_t n, const float* scales, Format format,
                    uint8_t* out) const;

  /// out[i] = round(x[i] * scale) / scale in float32: cast and back without the bytes.
  void emulate(const void* x, InputType type, int64_t n, float scale, Format format,
               float* out) const;
  void emulate_columns(const void* x, InputType type, int64_t n, const float* scales, Format format,
                       float* out) const;

  /// out[i] = the bfloat16 bits of round(x[i] * scale) * undo, which has to be a bfloat16: it is
  /// if undo is a power of two.
  void narrow(const void* x, InputType type, int64_t n, float scale, float undo, Format format,
              uint16_t* out) const;
  void narrow_columns(const void* x, InputType type, int64_t n, const float* scales,
                      const float* undo, Format format, uint16_t* out) const;

  /// out[i] = value of the byte / scale.
  void (*dequantize[2])(const uint8_t* x, int64_t n, float scale, float* out);

  // Behind the functions above: by InputType, then by Format.
  uint32_t (*amax_of[2])(const void* x, int64_t n);
  void (*amax_segments_of[2])(const void* x, int64_t n, int64_t length, uint32_t* largest);
  void (*amax_columns_of[2])(const void* x, int64_t n, uint32_t* largest);
  void (*cast_of[2][2])(const void* x, int64_t n, float scale, uint8_t* out);
  void (*cast_columns_of[2][2])(const void* x, int64_t n, const float* scales, uint8_t* out);
  void (*emulate_of[2][2])(const void* x, int64_t n, float scale, float* out);
  void (*emulate_columns_of[2][2])(const void* x, int64_t n, const float* scales, float* out);
  void (*narrow_of[2][2])(const void* x, int64_t n, float scale, float undo, uint16_t* out);
  void (*narrow_columns_of[2][2])(const void* x, int64_t n, const float* scales, const float* undo,
                                  uint16_t* out);
};

/// All variants that this processor can run, the fastest first. They give the same bits.
std::vector<const CpuQuantizer*> cpu_quantizers();
/// The fastest one.
const CpuQuantizer& cpu_quantizer();

/// The scale of a group with this largest magnitude, by run-time format and rule.
float scale_of(float amax, Format format, ScaleRule rule = ScaleRule::kExact);

}  // namespace float8
