/// Permutations: complete, different by seed, and the same for ever.
#include "data/shuffle.h"

#include <gtest/gtest.h>

#include <set>

namespace titan::data {
namespace {

TEST(ShuffleTest, EveryPermutationIsComplete) {
  for (const int64_t count : {1, 2, 3, 5, 16, 17, 1000}) {
    std::set<int64_t> images;
    for (int64_t i = 0; i < count; ++i) images.insert(permuted(i, count, 9));
    EXPECT_EQ(static_cast<int64_t>(images.size()), count);
    EXPECT_EQ(*images.rbegin(), count - 1);
    const std::vector<int64_t> order = permutation(count, 9);
    EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()), images);
  }
  EXPECT_EQ(permutation(0, 1), std::vector<int64_t>());
}

TEST(ShuffleTest, SeedsMatterAndOrderIsKept) {
  // Written down: a checkpoint of one build goes on with another.
  EXPECT_EQ(permutation(8, 1), (std::vector<int64_t>{1, 7, 5, 6, 3, 2, 0, 4}));
  std::vector<int64_t> images;
  for (int64_t i = 0; i < 8; ++i) images.push_back(permuted(i, 8, 1));
  EXPECT_EQ(images, (std::vector<int64_t>{6, 0, 4, 2, 1, 5, 3, 7}));
  EXPECT_NE(permutation(100, 1), permutation(100, 2));
  std::vector<int64_t> by_network, other;
  for (int64_t i = 0; i < 100; ++i)
    by_network.push_back(permuted(i, 100, 1)), other.push_back(permuted(i, 100, 2));
  EXPECT_NE(by_network, other);
}

TEST(ShuffleTest, NoPlaceIsFavoured) {
  // How often element 0 comes to each of 6 places in 6000 seeds: 1000 each, standard deviation 29.
  int64_t by_swaps[6] = {}, by_network[6] = {};
  for (uint64_t seed = 0; seed < 6000; ++seed) {
    const std::vector<int64_t> order = permutation(6, seed);
    for (int64_t place = 0; place < 6; ++place)
      if (order[static_cast<size_t>(place)] == 0) ++by_swaps[place];
    ++by_network[permuted(0, 6, seed)];
  }
  for (int place = 0; place < 6; ++place) {
    EXPECT_NEAR(static_cast<double>(by_swaps[place]), 1000, 150);
    EXPECT_NEAR(static_cast<double>(by_network[place]), 1000, 150);
  }
}

}  // namespace
}  // namespace titan::data
