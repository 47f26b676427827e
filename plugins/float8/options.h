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

}  // namespace float8
