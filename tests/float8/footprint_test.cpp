/// What a float8 layer is said to hold, for sizes that are worked out here.
#include "footprint.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace float8 {
namespace {

constexpr int64_t kTokens = 4096, kIn = 1024, kOut = 2048;

titan::sdk::Memory on_device(Recipe recipe) {
  return linear_footprint(plan_of(recipe), false, kTokens, kIn, kOut, 2);
}

TEST(FootprintTest, TheDeviceKeepsXInOneByteAndWeightsInTwo) {
  const titan::sdk::Memory memory = on_device(Recipe::kTensorwise);
  EXPECT_FALSE(memory.keeps_inputs);
  EXPECT_EQ(memory.saved_bytes, kTokens * kIn + 4);
  EXPECT_EQ(memory.cache_bytes, 2 * kOut * kIn + 2 * 4);
  // Both layouts of dy are larger than the one of x that forward needs beside the kept one.
  EXPECT_EQ(memory.working_bytes, 2 * (kTokens * kOut + 4));
}

TEST(FootprintTest, BlocksHaveScalesOfTheirOwn) {
  EXPECT_EQ(on_device(Recipe::kMxfp8).saved_bytes, kTokens * kIn + kTokens * kIn / 32);
  EXPECT_EQ(on_device(Recipe::kBlockwise).saved_bytes, kTokens * kIn + 4 * kTokens * kIn / 128);
  EXPECT_EQ(on_device(Recipe::kBlockwise).cache_bytes,
            2 * (kOut * kIn + 4 * (kOut / 128) * (kIn / 128)));
}

TEST(FootprintTest, GradientsOfWeightsInHighPrecisionNeedXAsItIs) {
  const titan::sdk::Memory memory = on_device(Recipe::kRowwiseWithGwHp);
  EXPECT_TRUE(memory.keeps_inputs);
  EXPECT_EQ(memory.saved_bytes, 0);
}

TEST(FootprintTest, EmulationKeepsNothingAndCopiesOperands) {
  for (const int64_t element_size : {2, 4}) {
    const titan::sdk::Memory memory =
        linear_footprint(plan_of(Recipe::kRowwise), true, kTokens, kIn, kOut, element_size);
    EXPECT_TRUE(memory.keeps_inputs);
    EXPECT_EQ(memory.saved_bytes, 0);
    EXPECT_EQ(memory.cache_bytes, 0);
    // In float32 the product of dy and x, which are the largest; narrower, the product before it is
    // rounded.
    const int64_t dw = 4 * (kTokens * kOut + kTokens * kIn);
    const int64_t forward = 4 * (kTokens * kIn + kOut * kIn + kTokens * kOut);
    EXPECT_EQ(memory.working_bytes,
              element_size == 4 ? dw : std::max(dw + 4 * kOut * kIn, forward));
  }
}

}  // namespace
}  // namespace float8
