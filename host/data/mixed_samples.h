/// Several sources in fixed proportions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/sample_source.h"

namespace titan::data {

/// Each sample comes from one source, drawn by its weight; all samples have the same length, so the
/// weights are shares of tokens. The draws depend on the seed, the rank and the number of the
/// sample alone. A source that is at its end begins again.
class MixedSamples final : public SampleSource {
 public:
  struct Source {
    std::string name;
    double weight = 0;  ///< positive; they need not add up to 1
    std::unique_ptr<SampleSource> samples;
  };

  MixedSamples(std::vector<Source> sources, int64_t seed, int64_t rank);

  void next(std::span<int64_t> tokens, std::span<int64_t> labels) override;
  /// First a part with the number of draws and the epochs of the source that has begun again most
  /// often, then those of the sources.
  std::vector<StreamPosition> position() const override;
  void seek(const std::vector<StreamPosition>& position) override;
  /// Of the source that has fewest: each must hold one sample.
  int64_t token_count() const override;
  int64_t total_bytes() const override;
  int64_t fingerprint() override;
  std::string where() const override;

 private:
  size_t source_of_draw(int64_t draw) const;

  std::vector<Source> sources_;
  std::vector<double> ends_;  ///< running sums of the weights, scaled to 1
  uint64_t seed_;
  int64_t draws_ = 0;
};

}  // namespace titan::data
