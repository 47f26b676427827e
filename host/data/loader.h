/// Puts samples together into batches; its state is a few numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/batch.h"
#include "data/sample_source.h"
#include "data/token_stream.h"

namespace titan::data {

/// Enough to go on with exactly the batch that would have come next.
struct LoaderState {
  int64_t samples = 0;  ///< handed out so far
  StreamPosition position;
  std::vector<StreamPosition> parts = {};  ///< of a mixture: the places of its sources
  int64_t total_bytes = 0;                 ///< of the data: another size means other data
  int64_t fingerprint = 0;  ///< of its first tokens: shards of equal size differ in it
  bool operator==(const LoaderState&) const = default;
};

class Loader {
 public:
  /// Samples of seq_len tokens. Throws a data error if the data is shorter than one sample.
  Loader(std::unique_ptr<SampleSource> samples, int64_t seq_len, int64_t batch_size);
  /// Samples cut out of one stream (ShiftedSamples).
  Loader(std::unique_ptr<TokenStream> stream, int64_t seq_len, int64_t batch_size);

  Batch next();

  LoaderState state() const;
  /// Throws a data error if the state was saved over other data.
  void restore(const LoaderState& state);

  /// How often the data began again; callers warn when it rises.
  int64_t epoch() const { return source_->position().front().epoch; }

 private:
  std::unique_ptr<SampleSource> source_;
  int64_t seq_len_;
  int64_t batch_size_;
  int64_t samples_ = 0;
  int64_t fingerprint_ = 0;
};

}  // namespace titan::data
