/// Orders and draws that a seed fixes, the same on every machine.
#pragma once

#include <cstdint>
#include <vector>

namespace titan::data {

/// Mixes numbers into one that looks random: splitmix64 (Steele, Lea, Flood 2014) over their chain.
uint64_t mixed(uint64_t seed, uint64_t a, uint64_t b = 0, uint64_t c = 0);

/// A permutation of 0 .. count - 1 (Fisher and Yates).
std::vector<int64_t> permutation(int64_t count, uint64_t seed);

/// The image of `index` in a permutation of 0 .. count - 1 that needs no memory: a Feistel network
/// of four rounds over the next power of four, walked until the result is below `count` (Black and
/// Rogaway 2002).
int64_t permuted(int64_t index, int64_t count, uint64_t seed);

}  // namespace titan::data
