/// Which names are suggested, and which are too far off.
#include "base/suggest.h"

#include <gtest/gtest.h>

namespace titan {
namespace {

TEST(EditDistance, CountsEditsAndSwapsOfNeighbours) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("stpes", "steps"), 1u);
  EXPECT_EQ(edit_distance("lr", "lrr"), 1u);
  EXPECT_EQ(edit_distance("ca", "abc"), 3u);
}

TEST(Nearest, FindsTypingErrors) {
  const std::vector<std::string> keys = {"name", "lr", "beta1", "beta2", "eps", "weight_decay"};
  EXPECT_EQ(nearest("lrr", keys), "lr");
  EXPECT_EQ(nearest("l", keys), "lr");
  EXPECT_EQ(nearest("wieght_decay", keys), "weight_decay");
  EXPECT_EQ(nearest("weightdecay", keys), "weight_decay");
  EXPECT_EQ(nearest("beta", keys), "beta1") << "the first of equally near ones";
  EXPECT_EQ(nearest("EPS", keys), "eps");
  EXPECT_EQ(nearest("adamw", {"SGD", "AdamW"}), "AdamW");
}

TEST(Nearest, SuggestsNothingFarOff) {
  EXPECT_EQ(nearest("momentum", {"lr", "eps"}), std::nullopt);
  EXPECT_EQ(nearest("x", {"y"}), std::nullopt);
  EXPECT_EQ(nearest("", {"a"}), std::nullopt);
  EXPECT_EQ(nearest("a", {}), std::nullopt);
  EXPECT_EQ(nearest(std::string(100000, 'a'), {std::string(100000, 'a')}), std::nullopt);
}

TEST(DidYouMean, IsReadyToPrefixAHint) {
  EXPECT_EQ(did_you_mean("lrr", {"lr"}) + "keys: lr", "did you mean 'lr'? keys: lr");
  EXPECT_EQ(did_you_mean("momentum", {"lr"}) + "keys: lr", "keys: lr");
}

TEST(Nearest, TheLastPartOfALongerName) {
  EXPECT_EQ(nearest("quantize.linear.float8", {"lora", "float8"}), "float8");
  EXPECT_EQ(nearest("quantize.linear.xfloat8", {"lora", "float8"}), std::nullopt);
}

}  // namespace
}  // namespace titan
