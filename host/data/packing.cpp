#include "data/packing.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"

namespace titan::data {

PackedText::PackedText(TextSource source, std::unique_ptr<const Tokenizer> tokenizer,
                       int64_t piece_bytes)
    : source_(std::move(source)), tokenizer_(std::move(tokenizer)), piece_bytes_(piece_bytes) {
  load_piece();
}

int64_t PackedText::token_count() const {
  return source_.total_bytes() + 2 * source_.document_count();
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
  const StreamPosition before = std::exchange(position_, position);
  bool known = position.epoch >= 0 && position.byte >= 0 && position.token >= 0 &&
               position.document >= 0 && position.document < source_.document_count();
  if (known) {
    load_piece();
    known =
        position.byte < document_->size() && position.token <= static_cast<int64_t>(piece_.size());
  }
  if (known) return;
  position_ = before;
  load_piece();
  throw data_error("the saved place in the data (document " + std::to_string(position.document) +
                       ", byte " + std::to_string(position.byte) + ", token " +
                       std::to_string(position.token) + ") does not exist in this text",
                   where(), "resume with the data that the checkpoint was made with");
}

/// Tokenizes the piece that begins at (document, byte).
void PackedText::load_piece() {
  if (open_document_ != position_.document) {
    document_ = source_.open_document(position_.document);
    open_document_ = position_.document;
  }
  const int64_t begin = std::min(position_.byte, document_->size());
  int64_t size = document_->size() - begin;
  if (tokenizer_->cuts_anywhere()) size = std::min(size, piece_bytes_);
  std::string text(static_cast<size_t>(size), '\0');
  document_->read(begin, text.data(), size);

  piece_end_ = begin + size;
  piece_.clear();
  if (begin == 0) piece_.push_back(tokenizer_->bos());
  tokenizer_->encode(text, piece_);
  if (piece_end_ == document_->size()) piece_.push_back(tokenizer_->eos());
}

void PackedText::advance_piece() {
  position_.token = 0;
  if (piece_end_ < document_->size()) {
    position_.byte = piece_end_;
  } else {
    position_.byte = 0;
    if (++position_.document == source_.document_count()) {
      position_.document = 0;
      ++position_.epoch;
    }
  }
  load_piece();
}

}  // namespace titan::data
