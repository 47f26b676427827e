#include "auto_filter.h"

#include <algorithm>
#include <iterator>

namespace float8 {
namespace {

constexpr int64_t kAny = INT64_MAX;

/// A layer is too small if K <= in and N <= out in one of the rows of its recipe. From torchao 0.18
/// (float8_linear_utils.py), measured there on H100; recipe delayed has the products of tensorwise
/// and cheaper casts.
constexpr struct {
  Recipe recipe;
  int64_t in, out;
} kTooSmall[] = {
    {Recipe::kTensorwise, 4096, 1024}, {Recipe::kDelayed, 4096, 1024},
    {Recipe::kRowwise, kAny, 2048},    {Recipe::kRowwise, 1024, kAny},
    {Recipe::kRowwise, 2048, 4096},
};

}  // namespace

bool has_auto_filter(Recipe recipe) {
  return std::any_of(std::begin(kTooSmall), std::end(kTooSmall),
                     [&](const auto& row) { return row.recipe == recipe; });
}

std::string auto_filter(Recipe recipe, int64_t in_features, int64_t out_features) {
  for (const auto& row : kTooSmall)
    if (row.recipe == recipe && in_features <= row.in && out_features <= row.out)
      return "[" + std::to_string(out_features) + ", " + std::to_string(in_features) +
             "] is too small to be faster in float8 (auto_filter_small_kn)";
  return {};
}

}  // namespace float8
