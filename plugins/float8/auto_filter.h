/// torchao's automatic filter: layers that lose more in quantising than they win in the product.
#pragma once

#include <cstdint>
#include <string>

#include "recipe.h"

namespace float8 {

/// Whether there are thresholds for the recipe.
bool has_auto_filter(Recipe recipe);

/// Why the filter leaves a layer with in_features K and out_features N in high precision; empty: it
/// does not.
std::string auto_filter(Recipe recipe, int64_t in_features, int64_t out_features);

}  // namespace float8
