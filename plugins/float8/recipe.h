/// The recipes as data: how each operand of the three products of a linear layer is quantised.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format.h"

namespace float8 {

enum class Recipe {
  kTensorwise,       ///< one scale a tensor, from its largest magnitude
  kDelayed,          ///< one scale a tensor, from the largest magnitudes of earlier steps
  kRowwise,          ///< one scale for each row along the dimension that a product sums over
  kRowwiseWithGwHp,  ///< the same, but gradients of weights in high precision
  kBlockwise,        ///< 1x128 for inputs and gradients, 128x128 for weights (DeepSeek-V3,
                     ///< arXiv:2412.19437)
  kMxfp8,            ///< 1x32 with power-of-two scales (OCP Microscaling Formats v1.0)
};

/// The recipe of that name, or nullopt.
std::optional<Recipe> find_recipe(std::string_view name);
std::string_view recipe_name(Recipe recipe);
const std::vector<Recipe>& all_recipes();

/// What shares one scale.
enum class Granularity {
  kNone,  ///< not quantised
  kTensor,
  kVector,  ///< a whole row along the dimension that is summed over
  k1x128,   ///< 128 elements along that dimension
  k128x128,
  k1x32,
};
/// Elements along the summed dimension that share a scale; 0: all of them.
int64_t block_length(Granularity granularity);

/// From a largest magnitude to a scale.
enum class ScaleRule {
  kExact,        ///< max / amax
  kPowerOfTwo,   ///< the same, rounded down to a power of two
  kRoundUpE8M0,  ///< mxfp8: the reciprocal of amax / max, rounded up to a power of two
};

struct Cast {
  Granularity granularity = Granularity::kNone;
  Format format = Format::kE4M3;
  ScaleRule rule = ScaleRule::kExact;
};

/// One product of two quantised operands.
struct Product {
  Cast left, right;
};

/// y [M, N] = x [M, K] w^T: both along K. dx = dy w: both along N. dw = dy^T x: both along M.
struct Plan {
  Recipe recipe = Recipe::kTensorwise;
  Product y;   ///< x, w
  Product dx;  ///< dy, w
  Product dw;  ///< dy, x
};

/// How a recipe quantises. `power_of_two`: rounds scales down to powers of two; nullopt: as the
/// recipe is usually run, which is yes for the rowwise ones. Throws TITAN_INVALID_ARGUMENT where it
/// has no effect (mxfp8 has no other scales).
Plan plan_of(Recipe recipe, std::optional<bool> power_of_two = std::nullopt);

/// Whether the products y, dx and dw usually keep fewer bits of the running sum where the hardware
/// can: forward alone, and with a scale a tensor or a row. Gradients sum over many outputs or
/// tokens and lose digits that way.
struct FastAccumulation {
  bool y = false, dx = false, dw = false;
};
FastAccumulation usual_fast_accumulation(Recipe recipe);
/// Whether products of the recipe know the choice at all: blocks of scales are added up in float32
/// in any case.
bool has_fast_accumulation(Recipe recipe);

/// Dimensions of a weight must be multiples of this, and so must the number of tokens that reach
/// the hardware (which is padded with zeros).
int64_t size_multiple(Recipe recipe);

}  // namespace float8
