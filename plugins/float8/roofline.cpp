#include "roofline.h"

namespace float8 {
namespace {

constexpr double kBf16Rate = 790e12;     // operations a second that large bfloat16 products reach
constexpr double kMemoryRate = 4.4e12;   // bytes a second that a cast reaches
constexpr double kLaunchSeconds = 2e-6;  // before a kernel of a cast does something
constexpr double kFp8 = 1.9,
                 kBlocks = 1.55;  // over bfloat16; blocks add up partial sums in float32

/// What a recipe costs. Bytes are read and written for each element of an operand, which comes in
/// bfloat16 (2) and leaves in one layout (1) or, as another product sums over its other dimension,
/// two.
struct Cost {
  double product_rate;  ///< over bfloat16
  int bf16_products;    ///< of the three
  double x, w, dy;      ///< bytes for each element
  int launches;
};

Cost cost_of(Recipe recipe) {
  switch (recipe) {
    // A pass for the largest magnitude (2), one for both layouts (2 + 1 + 1).
    case Recipe::kTensorwise: return {kFp8, 0, 6, 6, 6, 6};
    // Scales are known: one pass. The fourth launch makes the next scales.
    case Recipe::kDelayed: return {kFp8, 0, 4, 4, 4, 4};
    // Rows in one pass (2 + 1), columns in two (2, and 2 + 1).
    case Recipe::kRowwise: return {kFp8, 0, 8, 8, 8, 6};
    // x and dy along rows only; w along both.
    case Recipe::kRowwiseWithGwHp: return {kFp8, 1, 3, 8, 3, 4};
    // One pass; a float32 scale for each block of each layout.
    case Recipe::kBlockwise:
      return {kBlocks, 0, 4 + 8.0 / 128, 4 + 8.0 / (128 * 128), 4 + 8.0 / 128, 3};
    // One pass; a scale of one byte for each 32.
    case Recipe::kMxfp8: return {kFp8, 0, 4 + 2.0 / 32, 4 + 2.0 / 32, 4 + 2.0 / 32, 3};
  }
  return {1, 3, 0, 0, 0, 0};
}

}  // namespace

LinearTime predict_linear(Recipe recipe, int64_t tokens, int64_t in, int64_t out) {
  const Cost cost = cost_of(recipe);
  const auto m = static_cast<double>(tokens), k = static_cast<double>(in),
             n = static_cast<double>(out);
  const double product = 2 * m * k * n / kBf16Rate;
  LinearTime time;
  time.bf16 = 3 * product;
  time.products = (cost.bf16_products + (3 - cost.bf16_products) / cost.product_rate) * product;
  time.cast_x = cost.x * m * k / kMemoryRate;
  time.cast_w = cost.w * n * k / kMemoryRate;
  time.cast_dy = cost.dy * m * n / kMemoryRate;
  time.launches = cost.launches * kLaunchSeconds;
  return time;
}

}  // namespace float8
