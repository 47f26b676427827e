#include "data/mixed_samples.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "data/shuffle.h"

namespace titan::data {

MixedSamples::MixedSamples(std::vector<Source> sources, int64_t seed, int64_t rank)
    : sources_(std::move(sources)),
      seed_(mixed(static_cast<uint64_t>(seed), static_cast<uint64_t>(rank), 2)) {
  double sum = 0, end = 0;
  for (const Source& source : sources_) sum += source.weight;
  for (const Source& source : sources_) ends_.push_back(end += source.weight / sum);
}

size_t MixedSamples::source_of_draw(int64_t draw) const {
  // 53 bits: every double below 1 of that precision has the same chance.
  const double point =
      static_cast<double>(mixed(seed_, static_cast<uint64_t>(draw)) >> 11) * 0x1p-53;
  const auto found = std::upper_bound(ends_.begin(), ends_.end(), point);
  // The last sum may have been rounded to less than 1.
  return std::min(static_cast<size_t>(found - ends_.begin()), sources_.size() - 1);
}

void MixedSamples::next(std::span<int64_t> tokens, std::span<int64_t> labels) {
  sources_[source_of_draw(draws_)].samples->next(tokens, labels);
  ++draws_;
}

std::vector<StreamPosition> MixedSamples::position() const {
  std::vector<StreamPosition> parts(1);
  parts.front().token = draws_;
  for (const Source& source : sources_) {
    parts.push_back(source.samples->position().front());
    parts.front().epoch = std::max(parts.front().epoch, parts.back().epoch);
  }
  return parts;
}

void MixedSamples::seek(const std::vector<StreamPosition>& position) {
  if (position.size() != sources_.size() + 1 || position.front().token < 0)
    throw data_error("the saved place in the data is not that of a mixture of " +
                         std::to_string(sources_.size()) + " sources",
                     where(), "resume with the mixture that the checkpoint was made with");
  const std::vector<StreamPosition> before = this->position();
  try {
    for (size_t i = 0; i < sources_.size(); ++i) sources_[i].samples->seek({position[i + 1]});
  } catch (const Error&) {
    for (size_t i = 0; i < sources_.size(); ++i) sources_[i].samples->seek({before[i + 1]});
    throw;
  }
  draws_ = position.front().token;
}

int64_t MixedSamples::token_count() const {
  int64_t least = sources_.front().samples->token_count();
  for (const Source& source : sources_) least = std::min(least, source.samples->token_count());
  return least;
}

int64_t MixedSamples::total_bytes() const {
  int64_t bytes = 0;
  for (const Source& source : sources_) bytes += source.samples->total_bytes();
  return bytes;
}

int64_t MixedSamples::fingerprint() {
  std::vector<int64_t> parts;
  for (Source& source : sources_) parts.push_back(source.samples->fingerprint());
  return fingerprint_of(parts);
}

std::string MixedSamples::where() const {
  std::string text;
  for (const Source& source : sources_)
    text += (text.empty() ? "" : ", ") + source.name + " (" + source.samples->where() + ")";
  return text;
}

}  // namespace titan::data
