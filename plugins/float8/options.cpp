#include "options.h"

#include <titan/cpp/error.hpp>

namespace float8 {
namespace {

using titan::sdk::Create;
using titan::sdk::Error;

[[noreturn]] void without_effect(const std::string& what, const std::string& fix) {
  throw Error(TITAN_INVALID_ARGUMENT, what, fix);
}

Recipe read_recipe(const Create& create) {
  const auto name = create.option<std::string>("recipe");
  if (const auto recipe = find_recipe(name)) return *recipe;
  std::string names;
  for (const Recipe recipe : all_recipes()) names += (names.empty() ? "" : ", ") + std::string(recipe_name(recipe));
  throw Error(TITAN_INVALID_ARGUMENT, "float8 has no recipe '" + name + "'", "recipes: " + names);
}

std::optional<bool> read_power_of_two(const Create& create) {
  const auto word = create.option<std::string>("power_of_two_scales");
  if (word == "auto") return std::nullopt;
  return word == "on";
}

DelayedOptions read_delayed(const Create& create) {
  DelayedOptions options;
  options.history_length = create.option<int64_t>("amax_history_len");
  options.margin = create.option<int64_t>("margin");
  options.algorithm = create.option<std::string>("amax_compute_algo") == "max" ? AmaxAlgorithm::kMax : AmaxAlgorithm::kMostRecent;
  return options;
}

bool is_rowwise(Recipe recipe) { return recipe == Recipe::kRowwise || recipe == Recipe::kRowwiseWithGwHp; }

}  // namespace

Options read_options(const Create& create) {
  Options options;
  options.recipe = read_recipe(create);
  const std::string recipe(recipe_name(options.recipe));
  options.plan = plan_of(options.recipe, read_power_of_two(create));
  options.emulate = create.option<bool>("emulate");
  options.strict = create.option<bool>("strict");
  options.pad_inner_dim = create.option<bool>("pad_inner_dim");
  options.auto_filter_small_kn = create.option<bool>("auto_filter_small_kn");
  options.metrics_freq = create.option<int64_t>("metrics_freq");

  const DelayedOptions given = read_delayed(create), standard;
  if (options.recipe == Recipe::kDelayed)
    options.delayed = given;
  else if (given.history_length != standard.history_length || given.margin != standard.margin || given.algorithm != standard.algorithm)
    without_effect("amax_history_len, margin and amax_compute_algo belong to recipe delayed; recipe " + recipe + " has no history",
                   "take them out, or set recipe to delayed");
  const bool has_filter = options.recipe == Recipe::kTensorwise || options.recipe == Recipe::kDelayed || options.recipe == Recipe::kRowwise;
  if (options.auto_filter_small_kn && !has_filter)
    without_effect("auto_filter_small_kn knows no thresholds for recipe " + recipe,
                   "name the layers that stay in exclude");
  if (options.metrics_freq > 0 && !options.emulate)
    without_effect("metrics_freq needs emulate: the device backend does not count what a cast loses",
                   "set metrics_freq to 0, or emulate to true");
  return options;
}

std::string auto_filter(Recipe recipe, int64_t in_features, int64_t out_features) {
  const bool small = is_rowwise(recipe) ? out_features <= 2048 || in_features <= 1024 || (out_features <= 4096 && in_features <= 2048)
                                        : in_features <= 4096 && out_features <= 1024;
  if (!small) return {};
  return "[" + std::to_string(out_features) + ", " + std::to_string(in_features) +
         "] is too small to be faster in float8 (auto_filter_small_kn)";
}

}  // namespace float8
