#include "generate/sampler.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"
#include "base/numbers.h"

namespace titan::generate {
namespace {

bool more_likely(const std::pair<double, int64_t>& a, const std::pair<double, int64_t>& b) {
  return a.first != b.first ? a.first > b.first : a.second < b.second;
}

std::mt19937_64 engine_of(uint64_t seed, int64_t text) {
  const auto low = [](uint64_t value) { return static_cast<uint32_t>(value); };
  const auto number = static_cast<uint64_t>(text);
  std::seed_seq sequence{low(seed), low(seed >> 32), low(number), low(number >> 32)};
  return std::mt19937_64(sequence);
}

}  // namespace

Sampler::Sampler(const SamplingOptions& options, int64_t text)
    : options_(options), engine_(engine_of(options.seed, text)) {
  if (!(options.temperature >= 0) || !std::isfinite(options.temperature))
    throw usage_error("a temperature is 0 (the most likely token) or more, found " +
                          shortest_float(options.temperature),
                      "temperature", "0.7 is a common choice");
  if (options.top_k < 0)
    throw usage_error(
        "top_k is a number of tokens, 0 means all; found " + std::to_string(options.top_k), "top_k",
        "50 is a common choice");
  if (!(options.top_p > 0 && options.top_p <= 1))
    throw usage_error("top_p is a share of probability: above 0, at most 1; found " +
                          shortest_float(options.top_p),
                      "top_p", "0.9 is a common choice");
}

int64_t Sampler::pick(const at::Tensor& logits, int64_t known) {
  const at::Tensor values = logits.to(at::kCPU, at::kDouble).contiguous();
  const double* value = values.const_data_ptr<double>();
  const int64_t count = std::min(values.numel(), known);
  candidates_.clear();
  double largest = -INFINITY;
  for (int64_t id = 0; id < count; ++id) {
    if (std::isnan(value[id]) || value[id] == INFINITY)
      throw Error(ExitStatus::kDiverged,
                  "the logit of token " + std::to_string(id) + " is not finite",
                  "the model's output",
                  "the weights, or a converter's numbers, are broken: see the run's loss");
    largest = std::max(largest, value[id]);
    candidates_.emplace_back(value[id], id);
  }
  if (largest == -INFINITY)
    throw Error(ExitStatus::kDiverged, "no token has a finite logit", "the model's output",
                "the weights, or a converter's numbers, are broken: see the run's loss");
  if (options_.temperature == 0)
    return std::min_element(candidates_.begin(), candidates_.end(), more_likely)->second;

  const auto k = static_cast<int64_t>(candidates_.size());
  const int64_t kept = options_.top_k > 0 ? std::min(options_.top_k, k) : k;
  if (kept < k) {
    std::nth_element(candidates_.begin(), candidates_.begin() + kept - 1, candidates_.end(),
                     more_likely);
    candidates_.resize(static_cast<size_t>(kept));
  }
  double sum = 0;
  for (auto& [weight, id] : candidates_)
    sum += weight = std::exp((weight - largest) / options_.temperature);
  if (options_.top_p < 1) {
    std::sort(candidates_.begin(), candidates_.end(), more_likely);
    const double enough = options_.top_p * sum;
    double reached = 0;
    size_t needed = 0;
    while (needed < candidates_.size() && reached < enough) reached += candidates_[needed++].first;
    candidates_.resize(needed);
    sum = reached;
  } else if (kept < k) {
    // nth_element leaves an order that no standard defines.
    std::sort(candidates_.begin(), candidates_.end(), more_likely);
  }
  double left = uniform() * sum;
  for (const auto& [weight, id] : candidates_)
    if ((left -= weight) < 0) return id;
  // Rounding left a crumb: it falls to the last token that has any weight.
  return std::find_if(candidates_.rbegin(), candidates_.rend(),
                      [](const auto& each) { return each.first > 0; })
      ->second;
}

}  // namespace titan::generate
