#include "data/shifted_samples.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace titan::data {

int64_t fingerprint_of(std::span<const int64_t> numbers) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const int64_t number : numbers)
    hash = (hash ^ static_cast<uint64_t>(number)) * 0x100000001b3u;
  return static_cast<int64_t>(hash >> 1);
}

ShiftedSamples::ShiftedSamples(std::unique_ptr<TokenStream> stream, const DataShare& share)
    : stream_(std::move(stream)), share_(share) {}

void ShiftedSamples::next(std::span<int64_t> tokens, std::span<int64_t> labels) {
  sample_.resize(tokens.size() + 1);
  const auto length = static_cast<int64_t>(sample_.size());
  stream_->skip(share_.rank * length);
  stream_->read(sample_);
  std::copy(sample_.begin(), sample_.end() - 1, tokens.begin());
  std::copy(sample_.begin() + 1, sample_.end(), labels.begin());
  stream_->skip((share_.ranks - 1 - share_.rank) * length);
}

void ShiftedSamples::seek(const std::vector<StreamPosition>& position) {
  if (position.size() != 1)
    throw data_error("the saved place in the data has " + std::to_string(position.size()) +
                         " parts, this data is one source",
                     where(), "resume with the data that the checkpoint was made with");
  stream_->seek(position.front());
}

/// Of the first tokens. The stream is back at its place afterwards.
int64_t ShiftedSamples::fingerprint() {
  constexpr int64_t kMostTokens = 4096;
  const StreamPosition begin = stream_->position();
  std::vector<int64_t> tokens(static_cast<size_t>(std::min(kMostTokens, stream_->token_count())));
  stream_->read(tokens);
  stream_->seek(begin);
  return fingerprint_of(tokens);
}

}  // namespace titan::data
