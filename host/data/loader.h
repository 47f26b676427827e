/// Cuts a stream of tokens into samples and batches; its state is a few numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/batch.h"
#include "data/token_stream.h"

namespace titan::data {

/// Enough to go on with exactly the batch that would have come next.
struct LoaderState {
  int64_t samples = 0;  ///< handed out so far
  StreamPosition position;
  int64_t total_bytes = 0;  ///< of the data: another size means other data
  int64_t fingerprint = 0;  ///< of its first tokens: shards of equal size differ in it
  bool operator==(const LoaderState&) const = default;
};

/// A sample is seq_len + 1 tokens in a row: the first seq_len are the input, the last seq_len the
/// labels. The next sample begins behind it, so no token is in two samples. A sample that meets
/// the end of the data goes on at its beginning.
class Loader {
 public:
  /// Throws a data error if the data is shorter than one sample.
  Loader(std::unique_ptr<TokenStream> stream, int64_t seq_len, int64_t batch_size);

  Batch next();

  LoaderState state() const;
  /// Throws a data error if the state was saved over other data.
  void restore(const LoaderState& state);

  /// How often the data began again; callers warn when it rises.
  int64_t epoch() const { return stream_->position().epoch; }

 private:
  std::unique_ptr<TokenStream> stream_;
  int64_t seq_len_;
  int64_t batch_size_;
  int64_t samples_ = 0;
  int64_t fingerprint_ = 0;
  std::vector<int64_t> sample_;  ///< seq_len + 1 tokens, reused
};

}  // namespace titan::data
