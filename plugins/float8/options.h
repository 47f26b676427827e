/// The options of an instance, checked together: one that would have no effect is an error.
#pragma once

#include <optional>
#include <string>
#include <titan/titan_sdk.hpp>

#include "delayed.h"
#include "recipe.h"

namespace float8 {

struct Options {
  Recipe recipe = Recipe::kTensorwise;
  Plan plan;
  bool emulate = false;
  bool strict = false;         ///< a layer that does not fit is an error
  bool pad_inner_dim = false;  ///< in_features need not be a multiple
  bool auto_filter_small_kn = false;
  std::optional<DelayedOptions> delayed;
  FastAccumulation fast_accumulation;
  bool float32_grad_weight = false;  ///< see BackwardCall::float32_w
  int64_t metrics_freq = 0;
};

/// Throws TITAN_INVALID_ARGUMENT naming the options that contradict each other, or the device.
Options read_options(const titan::sdk::Create& create);

/// Why torchao's automatic filter leaves a layer in high precision, from measurements on H100: smaller
/// layers lose more in quantising than they win in the product. Empty: it is converted. in [K], out [N].
std::string auto_filter(Recipe recipe, int64_t in_features, int64_t out_features);

}  // namespace float8
