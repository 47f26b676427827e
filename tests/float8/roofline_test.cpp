/// The model of an H200 against reference values.
#include "roofline.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <string>

namespace float8 {
namespace {

constexpr std::array<Recipe, 5> kRecipes = {Recipe::kTensorwise, Recipe::kDelayed, Recipe::kRowwise,
                                            Recipe::kRowwiseWithGwHp, Recipe::kBlockwise};

double speedup(Recipe recipe, int64_t m, int64_t k, int64_t n) {
  return predict_linear(recipe, m, k, n).speedup();
}

TEST(Roofline, SpeedupsAreThoseOfTheTableWithinTwoPercent) {
  struct Row {
    int64_t m, k, n;
    std::array<double, 5> expected;
  };
  for (const Row& row : {Row{2048, 2048, 2048, {1.03, 1.23, 0.95, 0.99, 1.09}},
                         Row{4096, 4096, 4096, {1.46, 1.59, 1.38, 1.24, 1.34}},
                         Row{8192, 4096, 4096, {1.54, 1.65, 1.46, 1.31, 1.38}},
                         Row{8192, 4096, 14336, {1.64, 1.72, 1.58, 1.34, 1.43}},
                         Row{8192, 8192, 8192, {1.68, 1.75, 1.62, 1.36, 1.45}},
                         Row{16384, 8192, 28672, {1.77, 1.81, 1.73, 1.40, 1.49}}})
    for (size_t i = 0; i < kRecipes.size(); ++i)
      EXPECT_NEAR(speedup(kRecipes[i], row.m, row.k, row.n) / row.expected[i], 1, 0.02)
          << recipe_name(kRecipes[i]) << " " << row.m << " " << row.k << " " << row.n;
}

/// Milliseconds of the linear layers of one block of Llama 3 8B at 16,384 tokens, where layers that
/// take the same x (wq, wk and wv; w1 and w3) share its cast.
TEST(Roofline, TimesOfABlockOfLlama8BAreThoseOfTheReferenceWithinOnePercent) {
  constexpr int64_t kTokens = 16384, kDim = 4096, kKv = 1024, kHidden = 14336;
  struct Layer {
    int64_t in, out;
    bool has_own_cast;
  };
  const std::array<double, 5> expected = {16.2, 15.6, 16.8, 19.8, 18.8};
  for (size_t i = 0; i < kRecipes.size(); ++i) {
    double total = 0, bf16 = 0;
    for (const Layer& layer :
         {Layer{kDim, kDim, true}, Layer{kDim, kKv, false}, Layer{kDim, kKv, false},
          Layer{kDim, kDim, true}, Layer{kDim, kHidden, true}, Layer{kDim, kHidden, false},
          Layer{kHidden, kDim, true}}) {
      const LinearTime time = predict_linear(kRecipes[i], kTokens, layer.in, layer.out);
      total += time.total() - (layer.has_own_cast ? 0 : time.cast_x);
      bf16 += time.bf16;
    }
    EXPECT_NEAR(1e3 * bf16 / 27.2, 1, 0.01);
    EXPECT_NEAR(1e3 * total / expected[i], 1, 0.01) << recipe_name(kRecipes[i]);
  }
}

/// log2 of the least number of tokens from which on a layer [size, size] is that much faster; 17
/// stands for more than 64 Ki.
int crossover(Recipe recipe, int64_t size, double factor) {
  int power = 6;
  while (power < 17 && speedup(recipe, int64_t{1} << power, size, size) < factor) ++power;
  return power;
}

TEST(Roofline, CrossoversAreThoseOfTheReferenceWithinOnePowerOfTwo) {
  constexpr int kNever = 17;
  // For sizes 1024, 2048, 4096, 8192: from 1.0, 1.1 and 1.3 on.
  const std::array<std::array<std::array<int, 3>, 4>, 5> expected = {{
      {{{14, 16, kNever}, {11, 12, 14}, {10, 10, 11}, {9, 10, 11}}},
      {{{12, 13, kNever}, {10, 11, 12}, {9, 10, 10}, {9, 9, 10}}},
      {{{kNever, kNever, kNever}, {12, 13, kNever}, {10, 11, 12}, {10, 10, 11}}},
      {{{14, 15, kNever}, {12, 12, kNever}, {11, 11, 13}, {10, 11, 12}}},
      {{{13, 15, kNever}, {11, 12, 16}, {10, 10, 12}, {9, 10, 11}}},
  }};
  const std::array<double, 3> factors = {1.0, 1.1, 1.3};
  int inexact = 0;
  for (size_t i = 0; i < kRecipes.size(); ++i)
    for (size_t s = 0; s < 4; ++s)
      for (size_t f = 0; f < 3; ++f) {
        const int off =
            std::abs(crossover(kRecipes[i], int64_t{1024} << s, factors[f]) - expected[i][s][f]);
        EXPECT_LE(off, 1) << recipe_name(kRecipes[i]) << " " << (1024 << s) << " " << factors[f];
        inexact += off != 0;
      }
  EXPECT_LE(inexact, 4) << "of 60: the speed-ups there are within half a percent of the factor "
                           "asked for, or delayed's";
}

TEST(Roofline, NoRecipeIsFasterThanItsProducts) {
  for (const Recipe recipe : all_recipes()) {
    const LinearTime time = predict_linear(recipe, 1 << 22, 1 << 15, 1 << 15);
    EXPECT_LT(time.speedup(), time.bf16 / time.products);
    EXPECT_GT(time.speedup(), 0.97 * time.bf16 / time.products) << recipe_name(recipe);
    // One token: nothing but overhead.
    EXPECT_LT(predict_linear(recipe, 1, 1024, 1024).speedup(), 0.01) << recipe_name(recipe);
  }
  EXPECT_LT(speedup(Recipe::kRowwiseWithGwHp, 1 << 22, 1 << 15, 1 << 15), 3 / (1 + 2 / 1.9));
}

}  // namespace
}  // namespace float8
