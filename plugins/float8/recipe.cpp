#include "recipe.h"

#include <titan/cpp/error.hpp>

namespace float8 {
namespace {

constexpr struct {
  Recipe recipe;
  const char* name;
} kNames[] = {
    {Recipe::kTensorwise, "tensorwise"}, {Recipe::kDelayed, "delayed"},
    {Recipe::kRowwise, "rowwise"},       {Recipe::kRowwiseWithGwHp, "rowwise_with_gw_hp"},
    {Recipe::kBlockwise, "blockwise"},   {Recipe::kMxfp8, "mxfp8"},
};

}  // namespace

std::optional<Recipe> find_recipe(std::string_view name) {
  for (const auto& row : kNames)
    if (row.name == name) return row.recipe;
  return std::nullopt;
}

std::string_view recipe_name(Recipe recipe) {
  for (const auto& row : kNames)
    if (row.recipe == recipe) return row.name;
  return "";
}

const std::vector<Recipe>& all_recipes() {
  static const std::vector<Recipe> list = [] {
    std::vector<Recipe> recipes;
    for (const auto& row : kNames) recipes.push_back(row.recipe);
    return recipes;
  }();
  return list;
}

int64_t block_length(Granularity granularity) {
  switch (granularity) {
    case Granularity::k1x128:
    case Granularity::k128x128: return 128;
    case Granularity::k1x32: return 32;
    default: return 0;
  }
}

Plan plan_of(Recipe recipe, std::optional<bool> power_of_two) {
  const bool rowwise = recipe == Recipe::kRowwise || recipe == Recipe::kRowwiseWithGwHp;
  if (recipe == Recipe::kMxfp8 && power_of_two == false)
    throw titan::sdk::Error(TITAN_INVALID_ARGUMENT,
                            "the scales of recipe mxfp8 are powers of two, always",
                            "leave power_of_two_scales at auto");
  const ScaleRule rule =
      power_of_two.value_or(rowwise) ? ScaleRule::kPowerOfTwo : ScaleRule::kExact;
  const auto cast = [&](Granularity granularity, Format format = Format::kE4M3) {
    return Cast{granularity, format, rule};
  };
  Plan plan;
  plan.recipe = recipe;
  switch (recipe) {
    case Recipe::kTensorwise:
    case Recipe::kDelayed: {
      const Cast forward = cast(Granularity::kTensor),
                 gradient = cast(Granularity::kTensor, Format::kE5M2);
      plan.y = {forward, forward};
      plan.dx = {gradient, forward};
      plan.dw = {gradient, forward};
      break;
    }
    case Recipe::kRowwise: {
      const Cast vector = cast(Granularity::kVector);
      plan.y = plan.dx = plan.dw = {vector, vector};
      break;
    }
    case Recipe::kRowwiseWithGwHp: {
      const Cast vector = cast(Granularity::kVector);
      plan.y = {vector, vector};
      plan.dx = {vector, cast(Granularity::kTensor)};
      plan.dw = {cast(Granularity::kNone), cast(Granularity::kNone)};
      break;
    }
    case Recipe::kBlockwise: {
      const Cast vector = cast(Granularity::k1x128);
      plan.y = plan.dx = {vector, cast(Granularity::k128x128)};
      plan.dw = {vector, vector};
      break;
    }
    case Recipe::kMxfp8: {
      const Cast block{Granularity::k1x32, Format::kE4M3, ScaleRule::kRoundUpE8M0};
      plan.y = plan.dx = plan.dw = {block, block};
      break;
    }
  }
  return plan;
}

bool has_fast_accumulation(Recipe recipe) {
  return recipe != Recipe::kBlockwise && recipe != Recipe::kMxfp8;
}

FastAccumulation usual_fast_accumulation(Recipe recipe) {
  return {has_fast_accumulation(recipe), false, false};
}

int64_t size_multiple(Recipe recipe) { return recipe == Recipe::kMxfp8 ? 32 : 16; }

}  // namespace float8
