#include "options.h"

#include "auto_filter.h"

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
  for (const Recipe recipe : all_recipes())
    names += (names.empty() ? "" : ", ") + std::string(recipe_name(recipe));
  throw Error(TITAN_INVALID_ARGUMENT, "float8 has no recipe '" + name + "'", "recipes: " + names);
}

/// An option with the values auto, on and off; nullopt: auto.
std::optional<bool> read_switch(const Create& create, const char* name) {
  const auto word = create.option<std::string>(name);
  if (word == "auto") return std::nullopt;
  return word == "on";
}

FastAccumulation read_fast_accumulation(const Create& create, const Options& options) {
  FastAccumulation result = usual_fast_accumulation(options.recipe);
  const struct {
    const char* name;
    bool* value;
  } rows[] = {{"fast_accum_output", &result.y},
              {"fast_accum_grad_input", &result.dx},
              {"fast_accum_grad_weight", &result.dw}};
  const int32_t major = create.device().capability_major;
  for (const auto& row : rows) {
    const auto given = read_switch(create, row.name);
    if (!given) continue;
    const std::string fix = std::string("leave ") + row.name + " at auto";
    if (options.emulate)
      without_effect(
          std::string(row.name) + " has no effect with emulate: the CPU adds up in float32", fix);
    if (!has_fast_accumulation(options.recipe))
      without_effect(std::string(row.name) + " has no effect with recipe " +
                         std::string(recipe_name(options.recipe)) +
                         ": its blocks are added up in float32",
                     fix);
    if (major >= 10)
      without_effect(std::string(row.name) + " has no effect on compute capability " +
                         std::to_string(major) + "." +
                         std::to_string(create.device().capability_minor) +
                         ": Blackwell's products keep all bits",
                     fix);
    if (options.recipe == Recipe::kRowwiseWithGwHp && row.value == &result.dw)
      without_effect(std::string(row.name) +
                         " has no effect with recipe rowwise_with_gw_hp, whose weight gradient is "
                         "in high precision",
                     fix);
    *row.value = *given;
  }
  return result;
}

DelayedOptions read_delayed(const Create& create) {
  DelayedOptions options;
  options.history_length = create.option<int64_t>("amax_history_len");
  options.margin = create.option<int64_t>("margin");
  options.algorithm = create.option<std::string>("amax_compute_algo") == "max"
                          ? AmaxAlgorithm::kMax
                          : AmaxAlgorithm::kMostRecent;
  return options;
}

}  // namespace

Options read_options(const Create& create) {
  Options options;
  options.recipe = read_recipe(create);
  const std::string recipe(recipe_name(options.recipe));
  options.plan = plan_of(options.recipe, read_switch(create, "power_of_two_scales"));
  options.emulate = create.option<bool>("emulate");
  options.strict = create.option<bool>("strict");
  options.pad_inner_dim = create.option<bool>("pad_inner_dim");
  options.auto_filter_small_kn = create.option<bool>("auto_filter_small_kn");
  options.metrics_freq = create.option<int64_t>("metrics_freq");
  options.float32_grad_weight = create.option<bool>("grad_weight_fp32");
  if (options.float32_grad_weight && !titan::sdk::host_has(&titan_host::call_grad_accumulator))
    throw Error(TITAN_UNSUPPORTED,
                "grad_weight_fp32 needs a titan with API level 2, and this one has " +
                    std::to_string(titan::sdk::host().api_level),
                "use a newer titan, or set grad_weight_fp32 to false");
  // A sum of gradients has the type that the weight is stored in: in a narrower one nothing would
  // be left of float32.
  const titan_dl_dtype stored = create.parameter_dtype();
  const bool narrower = stored.bits != 0 && (stored.code != TITAN_DTYPE_FLOAT || stored.bits != 32);
  if (options.float32_grad_weight && narrower)
    without_effect(
        "grad_weight_fp32 needs parameters that are stored in float32, as the sums of their "
        "gradients are; these are stored in " +
            std::to_string(stored.bits) + " bits",
        "set training.dtype to float32 (with training.mixed_precision_param: bfloat16 layers "
        "compute in bfloat16 all the same), "
        "or grad_weight_fp32 to false");
  options.fast_accumulation = read_fast_accumulation(create, options);

  const DelayedOptions given = read_delayed(create), standard;
  if (options.recipe == Recipe::kDelayed)
    options.delayed = given;
  else if (given.history_length != standard.history_length || given.margin != standard.margin ||
           given.algorithm != standard.algorithm)
    without_effect(
        "amax_history_len, margin and amax_compute_algo belong to recipe delayed; recipe " +
            recipe + " has no history",
        "take them out, or set recipe to delayed");
  if (options.auto_filter_small_kn && !has_auto_filter(options.recipe))
    without_effect("auto_filter_small_kn knows no thresholds for recipe " + recipe,
                   "name the layers that stay in exclude");
  return options;
}

}  // namespace float8
