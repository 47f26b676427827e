#include "data/packing.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"

namespace titan::data {

PackedText::PackedText(std::unique_ptr<DocumentSource> source, std::unique_ptr<Tokenizer> tokenizer,
                       const PackingOptions& options)
    : source_(std::move(source)), tokenizer_(std::move(tokenizer)), options_(options) {
  position_ = source_->place();
  load_piece();
}

int64_t PackedText::token_count() const {
  const int64_t specials = (options_.add_bos && tokenizer_->bos() ? 1 : 0) +
                           (options_.add_eos && tokenizer_->eos() ? 1 : 0);
  return std::min(source_->content_bytes(), kUnknownSize) +
         specials * std::min(source_->document_count(), kUnknownSize / 2);
}

void PackedText::read(std::span<int64_t> out) {
  while (!out.empty()) {
    const int64_t left = static_cast<int64_t>(piece_.size()) - position_.token;
    if (left == 0) {
      advance_piece();
      continue;
    }
    const int64_t count = std::min(left, static_cast<int64_t>(out.size()));
    std::copy_n(piece_.begin() + position_.token, count, out.begin());
    out = out.subspan(static_cast<size_t>(count));
    position_.token += count;
  }
}

void PackedText::seek(const StreamPosition& position) {
  const StreamPosition before = position_;
  const auto go = [this](const StreamPosition& place) {
    if (place.byte < 0 || place.token < 0 || !source_->seek(place)) return false;
    position_ = place;
    text_.clear();
    fruitful_epoch_ = place.epoch;
    load_piece();
    return place.token <= static_cast<int64_t>(piece_.size()) &&
           (place.byte == 0 || !piece_.empty());
  };
  if (go(position)) return;
  go(before);
  throw data_error("the saved place in the data (document " + std::to_string(position.document) +
                       ", byte " + std::to_string(position.byte) + ", token " +
                       std::to_string(position.token) + ") does not exist in this text",
                   where(), "resume with the data that the checkpoint was made with");
}

/// Tokenizes the piece that begins at (document, byte); `text_` begins there too.
void PackedText::load_piece() {
  piece_.clear();
  last_piece_ = false;
  if (position_.byte == 0 && options_.add_bos)
    if (const auto bos = tokenizer_->bos()) piece_.push_back(*bos);
  size_t used = 0;
  // Doubled until the tokenizer is sure of some of it, at the latest when it has seen all.
  for (auto size = static_cast<size_t>(options_.piece_bytes);; size *= 2) {
    // One byte more than is looked at tells whether the document ends here.
    if (const size_t have = text_.size(); have <= size) {
      text_.resize(size + 1);
      const int64_t got = source_->read(position_.byte + static_cast<int64_t>(have),
                                        text_.data() + have, static_cast<int64_t>(size + 1 - have));
      text_.resize(have + static_cast<size_t>(got));
    }
    last_piece_ = text_.size() <= size;
    used = tokenizer_->encode_some(std::string_view(text_).substr(0, size), last_piece_, piece_);
    if (used > 0 || last_piece_) break;
  }
  last_piece_ = last_piece_ && used == text_.size();
  piece_end_ = position_.byte + static_cast<int64_t>(used);
  text_.erase(0, used);
  // A place behind the end of the document holds nothing.
  const bool beyond = position_.byte > 0 && used == 0;
  if (last_piece_ && options_.add_eos && !beyond)
    if (const auto eos = tokenizer_->eos()) piece_.push_back(*eos);
  if (!piece_.empty()) fruitful_epoch_ = position_.epoch;
}

void PackedText::advance_piece() {
  if (!last_piece_) {
    position_.byte = piece_end_;
    position_.token = 0;
  } else {
    source_->next();
    position_ = source_->place();
    text_.clear();
    // A tokenizer that removes all there is, and adds nothing, would be asked for ever.
    if (position_.epoch > fruitful_epoch_ + 1)
      throw data_error("the tokenizer gives no token for any document", where(),
                       "use other data or another tokenizer (model.tokenizer_path)");
  }
  load_piece();
}

}  // namespace titan::data
