#include "data/loader.h"

#include <limits>
#include <string>
#include <utility>

#include "base/error.h"
#include "data/shifted_samples.h"

namespace titan::data {
namespace {

constexpr const char* kOtherDataHint =
    "resume with the data that the checkpoint was made with, or leave its place in the data out "
    "(checkpoint.exclude_from_loading: [dataloader])";

void require_positive(int64_t value, const char* key) {
  if (value < 1)
    throw usage_error(std::string(key) + " is " + std::to_string(value) + ", 1 or more is needed",
                      key, std::string("set ") + key + " to a positive number");
}

}  // namespace

Loader::Loader(std::unique_ptr<TokenStream> stream, int64_t seq_len, int64_t batch_size)
    : Loader(std::make_unique<ShiftedSamples>(std::move(stream)), seq_len, batch_size) {}

Loader::Loader(std::unique_ptr<SampleSource> samples, int64_t seq_len, int64_t batch_size)
    : source_(std::move(samples)), seq_len_(seq_len), batch_size_(batch_size) {
  require_positive(seq_len, "training.seq_len");
  require_positive(batch_size, "training.local_batch_size");
  if (seq_len >= source_->token_count())
    throw data_error("the data has " + std::to_string(source_->token_count()) +
                         " tokens, one sample needs training.seq_len + 1 = " +
                         std::to_string(static_cast<uint64_t>(seq_len) + 1),
                     source_->where(), "use more data, or lower training.seq_len");
  if (batch_size > std::numeric_limits<int64_t>::max() / 16 / seq_len)
    throw usage_error("a batch of " + std::to_string(batch_size) + " samples of " +
                          std::to_string(seq_len) + " tokens does not fit into memory",
                      "training.local_batch_size", "lower training.local_batch_size");
  fingerprint_ = source_->fingerprint();
}

Batch Loader::next() {
  Batch batch{batch_size_, seq_len_, {}, {}};
  batch.tokens.resize(static_cast<size_t>(batch_size_ * seq_len_));
  batch.labels.resize(batch.tokens.size());
  const auto length = static_cast<size_t>(seq_len_);
  for (size_t i = 0; i < static_cast<size_t>(batch_size_); ++i) {
    source_->next(std::span(batch.tokens).subspan(i * length, length),
                  std::span(batch.labels).subspan(i * length, length));
    ++samples_;
  }
  return batch;
}

LoaderState Loader::state() const {
  const std::vector<StreamPosition> position = source_->position();
  return {samples_,
          position.front(),
          {position.begin() + 1, position.end()},
          source_->total_bytes(),
          fingerprint_};
}

void Loader::restore(const LoaderState& state) {
  if (state.total_bytes != source_->total_bytes())
    throw data_error("the checkpoint was made with data of " + std::to_string(state.total_bytes) +
                         " bytes, this data has " + std::to_string(source_->total_bytes()),
                     source_->where(), kOtherDataHint);
  if (state.fingerprint != fingerprint_)
    throw data_error(
        "the checkpoint was made with other data: it has the same size, but other tokens at its "
        "beginning "
        "(another text, tokenizer, order of documents or number of ranks)",
        source_->where(), kOtherDataHint);
  if (state.samples < 0)
    throw data_error(
        "the checkpoint says that " + std::to_string(state.samples) + " samples were read",
        source_->where(), "the checkpoint is damaged: resume from another one");
  std::vector<StreamPosition> position = {state.position};
  position.insert(position.end(), state.parts.begin(), state.parts.end());
  source_->seek(position);
  samples_ = state.samples;
}

}  // namespace titan::data
