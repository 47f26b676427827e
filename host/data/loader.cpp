#include "data/loader.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/error.h"

namespace titan::data {
namespace {

void require_positive(int64_t value, const char* key) {
  if (value < 1)
    throw usage_error(std::string(key) + " is " + std::to_string(value) + ", 1 or more is needed",
                      key, std::string("set ") + key + " to a positive number");
}

/// FNV-1a over the first tokens, in 63 bits. The stream is back at its beginning afterwards.
int64_t fingerprint_of(TokenStream& stream) {
  constexpr int64_t kMostTokens = 4096;
  const StreamPosition begin = stream.position();
  std::vector<int64_t> tokens(static_cast<size_t>(std::min(kMostTokens, stream.token_count())));
  stream.read(tokens);
  stream.seek(begin);
  uint64_t hash = 0xcbf29ce484222325u;
  for (const int64_t token : tokens) hash = (hash ^ static_cast<uint64_t>(token)) * 0x100000001b3u;
  return static_cast<int64_t>(hash >> 1);
}

}  // namespace

Loader::Loader(std::unique_ptr<TokenStream> stream, int64_t seq_len, int64_t batch_size)
    : stream_(std::move(stream)), seq_len_(seq_len), batch_size_(batch_size) {
  require_positive(seq_len, "training.seq_len");
  require_positive(batch_size, "training.local_batch_size");
  if (seq_len >= stream_->token_count())
    throw data_error("the data has " + std::to_string(stream_->token_count()) +
                         " tokens, one sample needs training.seq_len + 1 = " +
                         std::to_string(static_cast<uint64_t>(seq_len) + 1),
                     stream_->where(), "use more data, or lower training.seq_len");
  if (batch_size > std::numeric_limits<int64_t>::max() / 16 / seq_len)
    throw usage_error("a batch of " + std::to_string(batch_size) + " samples of " +
                          std::to_string(seq_len) + " tokens does not fit into memory",
                      "training.local_batch_size", "lower training.local_batch_size");
  sample_.resize(static_cast<size_t>(seq_len + 1));
  fingerprint_ = fingerprint_of(*stream_);
}

Batch Loader::next() {
  Batch batch{batch_size_, seq_len_, {}, {}};
  batch.tokens.reserve(static_cast<size_t>(batch_size_ * seq_len_));
  batch.labels.reserve(static_cast<size_t>(batch_size_ * seq_len_));
  for (int64_t i = 0; i < batch_size_; ++i) {
    stream_->read(sample_);
    batch.tokens.insert(batch.tokens.end(), sample_.begin(), sample_.end() - 1);
    batch.labels.insert(batch.labels.end(), sample_.begin() + 1, sample_.end());
    ++samples_;
  }
  return batch;
}

LoaderState Loader::state() const {
  return {samples_, stream_->position(), stream_->total_bytes(), fingerprint_};
}

void Loader::restore(const LoaderState& state) {
  if (state.total_bytes != stream_->total_bytes())
    throw data_error("the checkpoint was made with data of " + std::to_string(state.total_bytes) +
                         " bytes, this data has " + std::to_string(stream_->total_bytes()),
                     stream_->where(), "resume with the data that the checkpoint was made with");
  if (state.fingerprint != fingerprint_)
    throw data_error("the checkpoint was made with other data: it has the same size, but other tokens at its beginning",
                     stream_->where(),
                     "resume with the data that the checkpoint was made with, or leave its place in the data out "
                     "(checkpoint.exclude_from_loading: [dataloader])");
  if (state.samples < 0)
    throw data_error(
        "the checkpoint says that " + std::to_string(state.samples) + " samples were read",
        stream_->where(), "the checkpoint is damaged: resume from another one");
  stream_->seek(state.position);
  samples_ = state.samples;
}

}  // namespace titan::data
