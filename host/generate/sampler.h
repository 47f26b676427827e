/// Which token comes next.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace titan::generate {

/// As transformers' generation has them, applied in this order.
struct SamplingOptions {
  double temperature = 1.0;  ///< logits are divided by it; 0: always the most likely token
  int64_t top_k = 0;         ///< only the k most likely tokens; 0: all
  double top_p = 1.0;        ///< only the fewest likely tokens whose probabilities reach this sum
  uint64_t seed = 0;
};

/// Draws for one text. What it draws depends on the seed, the number of the text and the logits,
/// not on what else is drawn.
class Sampler {
 public:
  /// Throws a usage error that names the option ("temperature", ...) if one is out of range.
  Sampler(const SamplingOptions& options, int64_t text);

  /// `logits`: floating point [vocab_size], on any device; of equal ones the smaller id goes first.
  /// Ids from `known` on are never chosen. Throws Error kDiverged if no choice can be made of them.
  int64_t pick(const at::Tensor& logits, int64_t known);

 private:
  /// In [0, 1): 53 bits of the engine, whose sequence the C++ standard defines.
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

  SamplingOptions options_;
  std::mt19937_64 engine_;
  std::vector<std::pair<double, int64_t>> candidates_;  ///< logit, then probability; and id
};

}  // namespace titan::generate
