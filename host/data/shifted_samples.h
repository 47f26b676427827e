/// Samples cut out of a stream of tokens.
#pragma once

#include <memory>
#include <vector>

#include "data/sample_source.h"

namespace titan::data {

/// A sample is n + 1 tokens in a row: the first n are the input, the last n the labels. The next
/// sample begins behind it, so no token is in two samples. A sample that meets the end of the data
/// goes on at its beginning.
///
/// Of several ranks each takes every so many-th sample, for streams that are not shared out by
/// document. All of them have the same position then.
class ShiftedSamples final : public SampleSource {
 public:
  explicit ShiftedSamples(std::unique_ptr<TokenStream> stream, const DataShare& share = {});

  void next(std::span<int64_t> tokens, std::span<int64_t> labels) override;
  std::vector<StreamPosition> position() const override { return {stream_->position()}; }
  void seek(const std::vector<StreamPosition>& position) override;
  int64_t token_count() const override { return stream_->token_count(); }
  int64_t total_bytes() const override { return stream_->total_bytes(); }
  int64_t fingerprint() override;
  std::string where() const override { return stream_->where(); }

 private:
  std::unique_ptr<TokenStream> stream_;
  DataShare share_;
  std::vector<int64_t> sample_;  ///< n + 1 tokens, reused
};

}  // namespace titan::data
