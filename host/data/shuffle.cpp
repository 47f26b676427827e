#include "data/shuffle.h"

#include <cstddef>
#include <numeric>
#include <utility>

namespace titan::data {
namespace {

uint64_t splitmix(uint64_t state) {
  state += 0x9E3779B97F4A7C15u;
  state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9u;
  state = (state ^ state >> 27) * 0x94D049BB133111EBu;
  return state ^ state >> 31;
}

/// Below `limit`, each with the same chance: Lemire's method without its rejections would be off by
/// less than limit / 2^64, which no shuffle of data can show.
uint64_t scaled(uint64_t random, uint64_t limit) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(random) * limit >> 64);
}

}  // namespace

uint64_t mixed(uint64_t seed, uint64_t a, uint64_t b, uint64_t c) {
  return splitmix(splitmix(splitmix(splitmix(seed) ^ a) ^ b) ^ c);
}

std::vector<int64_t> permutation(int64_t count, uint64_t seed) {
  std::vector<int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[scaled(mixed(seed, i), i)]);
  return order;
}

int64_t permuted(int64_t index, int64_t count, uint64_t seed) {
  int half = 1;
  while (half < 31 && (int64_t{1} << 2 * half) < count) ++half;
  const uint64_t mask = (uint64_t{1} << half) - 1;
  auto value = static_cast<uint64_t>(index);
  do {
    uint64_t left = value >> half, right = value & mask;
    for (uint64_t round = 0; round < 4; ++round)
      left = std::exchange(right, left ^ (mixed(seed, round, right) & mask));
    value = left << half | right;
  } while (value >= static_cast<uint64_t>(count));
  return static_cast<int64_t>(value);
}

}  // namespace titan::data
