/// How much faster float8 makes a linear layer, from a model of an H200: how long its products and
/// its casts take.
#pragma once

#include <cstdint>
#include <string_view>

#include "recipe.h"

namespace float8 {

/// What the model rests on, as users see it.
inline constexpr std::string_view kRooflineBasis =
    "modelled: H200, bf16 at 790 TFLOP/s, fp8 1.9x (blockwise 1.55x), casts at 4.4 TB/s";

/// Forward and backward of y [M, N] = x [M, K] w^T: three products of 2 M K N operations. In
/// seconds.
struct LinearTime {
  double bf16 = 0;      ///< the layer in bfloat16: products alone
  double products = 0;  ///< with the recipe
  double cast_x = 0, cast_w = 0,
         cast_dy = 0;   ///< memory traffic of quantising each operand, in all layouts
  double launches = 0;  ///< of the kernels that quantise
  double total() const { return products + cast_x + cast_w + cast_dy + launches; }
  double speedup() const { return bf16 / total(); }
};

/// tokens [M], in [K] and out [N] are above 0.
LinearTime predict_linear(Recipe recipe, int64_t tokens, int64_t in, int64_t out);

}  // namespace float8
