#include "data/tokenizers/bpe_tokenizer.h"

#include <algorithm>
#include <utility>

#include "data/tokenizers/nfc.h"
#include "data/tokenizers/utf8.h"

namespace titan::data {
namespace {

/// Tokens that are looked for in the normalized text are normalized themselves.
std::vector<AddedToken> tokens_of(const BpeTokenizerParts& parts, bool normalized) {
  std::vector<AddedToken> tokens;
  for (AddedToken token : parts.added) {
    if (token.normalized != normalized) continue;
    if (normalized && parts.nfc) token.content = to_nfc(token.content);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

}  // namespace

BpeTokenizer::BpeTokenizer(std::shared_ptr<const BpeTokenizerParts> parts)
    : parts_(std::move(parts)),
      raw_tokens_(tokens_of(*parts_, false), parts_->specials_are_text),
      normalized_tokens_(tokens_of(*parts_, true), parts_->specials_are_text),
      pretokenizer_(parts_->stages),
      bpe_(parts_->bpe),
      cuts_(pretokenizer_.cuts() && !parts_->nfc && !raw_tokens_.looks_around() &&
            !normalized_tokens_.looks_around()) {
  for (const AddedToken& token : parts_->added) added_by_id_.emplace(token.id, &token);
}

std::unique_ptr<Tokenizer> BpeTokenizer::another() const {
  return std::make_unique<BpeTokenizer>(parts_);
}

std::optional<int64_t> BpeTokenizer::special_id(std::string_view text) const {
  for (const AddedToken& token : parts_->added)
    if (token.special && token.content == text) return token.id;
  return std::nullopt;
}

std::optional<std::string_view> BpeTokenizer::bytes_of(int64_t id) const {
  if (const auto added = added_by_id_.find(id); added != added_by_id_.end())
    return added->second->special ? std::string_view() : std::string_view(added->second->content);
  if (const auto other = parts_->other_bytes.find(id); other != parts_->other_bytes.end())
    return other->second;
  if (id < 0 || id >= parts_->bpe->size() || parts_->bpe->bytes_of(id).empty()) return std::nullopt;
  return parts_->bpe->bytes_of(id);
}

size_t BpeTokenizer::encode_some(std::string_view text, bool last, std::vector<int64_t>& ids) {
  if (!last && !cuts_) return 0;
  return parts_->invalid == InvalidUtf8::kRestIsOnePiece ? encode_like_tiktoken(text, last, ids)
                                                         : encode_runs(text, last, ids);
}

/// Runs of valid text, and between them runs of bytes that are none.
size_t BpeTokenizer::encode_runs(std::string_view text, bool last, std::vector<int64_t>& ids) {
  size_t at = 0;
  while (at < text.size()) {
    const Utf8Prefix prefix = utf8_prefix(text.substr(at));
    const bool to_the_end = at + prefix.valid + prefix.invalid == text.size();
    const bool open = !last && to_the_end && (prefix.invalid == 0 || prefix.truncated);
    const size_t used = encode_valid(text.substr(at, prefix.valid), !open, ids);
    if (open) return at + used;
    at += prefix.valid;
    size_t end = at;
    while (end < text.size()) {
      const Utf8Prefix next = utf8_prefix(text.substr(end));
      const bool at_the_end = end + next.invalid == text.size();
      if (next.valid > 0 || (next.truncated && !last && at_the_end)) break;
      end += next.invalid;
    }
    // More of the run may follow.
    if (!last && end + 4 > text.size()) return at;
    if (end > at) bpe_.encode(text.substr(at, end - at), ids);
    at = end;
  }
  return at;
}

size_t BpeTokenizer::encode_like_tiktoken(std::string_view text, bool last,
                                          std::vector<int64_t>& ids) {
  const Utf8Prefix prefix = utf8_prefix(text);
  if (last) {
    if (prefix.valid < text.size())
      encode_with_rest(text, prefix.valid, ids);
    else if (parts_->nfc)
      encode_valid(to_nfc(text), true, ids);
    else
      encode_valid(text, true, ids);
    return text.size();
  }
  // What is invalid reaches to the end of the text, wherever that is.
  if (prefix.invalid > 0 && !prefix.truncated) return 0;
  return encode_valid(text.substr(0, prefix.valid), false, ids);
}

/// tiktoken's _encode_bytes: the last piece of the valid part, with white space before it, and all
/// that follows is one piece.
void BpeTokenizer::encode_with_rest(std::string_view text, size_t valid,
                                    std::vector<int64_t>& ids) {
  const size_t begin = ids.size();
  last_piece_ids_ = 0;
  encode_valid(text.substr(0, valid), true, ids);
  size_t unstable = last_piece_ids_;
  if (unstable > 0 && is_all_space(ids[ids.size() - unstable]))
    while (unstable < ids.size() - begin && is_all_space(ids[ids.size() - unstable - 1]))
      ++unstable;
  std::string rest;
  for (size_t i = ids.size() - unstable; i < ids.size(); ++i) rest += parts_->bpe->bytes_of(ids[i]);
  ids.resize(ids.size() - unstable);
  rest += text.substr(valid);
  bpe_.encode(rest, ids);
}

bool BpeTokenizer::is_all_space(int64_t id) const {
  if (id >= parts_->bpe->size()) return false;
  const std::string& bytes = parts_->bpe->bytes_of(id);
  return !bytes.empty() && bytes.find_first_not_of(" \n\t") == std::string::npos;
}

size_t BpeTokenizer::encode_valid(std::string_view text, bool complete, std::vector<int64_t>& ids) {
  // Where a token may begin of which only the beginning is seen, nothing is sure any more.
  const size_t longest = std::max(raw_tokens_.longest(), normalized_tokens_.longest());
  const size_t sure = text.size() - std::min(text.size(), longest > 0 ? longest - 1 : 0);
  for (const AddedTokenSearch::Segment& segment : raw_tokens_.split(text)) {
    if (!complete && segment.begin >= sure) return segment.begin;
    if (segment.id >= 0) {
      ids.push_back(segment.id);
      last_piece_ids_ = 0;
      continue;
    }
    const std::string_view part = text.substr(segment.begin, segment.end - segment.begin);
    if (complete || segment.end < sure)
      encode_segment(part, ids);
    else
      return segment.begin + encode_open_segment(part, sure - segment.begin, ids);
  }
  return text.size();
}

void BpeTokenizer::encode_segment(std::string_view text, std::vector<int64_t>& ids) {
  const bool normalize = parts_->nfc && parts_->invalid == InvalidUtf8::kOwnPiece;
  const std::string normalized = normalize ? to_nfc(text) : std::string();
  if (normalize) text = normalized;
  for (const AddedTokenSearch::Segment& segment : normalized_tokens_.split(text)) {
    if (segment.id >= 0)
      ids.push_back(segment.id);
    else
      encode_pieces(text.substr(segment.begin, segment.end - segment.begin), ids);
  }
}

size_t BpeTokenizer::encode_open_segment(std::string_view text, size_t sure,
                                         std::vector<int64_t>& ids) {
  const bool like_tiktoken = parts_->invalid == InvalidUtf8::kRestIsOnePiece;
  for (const AddedTokenSearch::Segment& segment : normalized_tokens_.split(text)) {
    if (segment.begin >= sure) return segment.begin;
    if (segment.id >= 0) {
      ids.push_back(segment.id);
      continue;
    }
    if (segment.end < sure) {
      encode_pieces(text.substr(segment.begin, segment.end - segment.begin), ids);
      continue;
    }
    std::string_view part = text.substr(segment.begin, sure - segment.begin);
    part = part.substr(0, utf8_prefix(part).valid);
    size_t done = 0, kept_bytes = 0, kept_ids = ids.size();
    const size_t used = pretokenizer_.run(part, /*complete=*/false, [&](std::string_view piece) {
      bpe_.encode(piece, ids);
      done += piece.size();
      // An invalid byte that comes later could draw white space before it into its piece.
      if (!is_all_space(ids.back())) kept_bytes = done, kept_ids = ids.size();
    });
    if (!like_tiktoken) return segment.begin + used;
    ids.resize(kept_ids);
    return segment.begin + kept_bytes;
  }
  return text.size();
}

void BpeTokenizer::encode_pieces(std::string_view text, std::vector<int64_t>& ids) {
  pretokenizer_.run(text, true, [&](std::string_view piece) {
    const size_t before = ids.size();
    bpe_.encode(piece, ids);
    last_piece_ids_ = ids.size() - before;
  });
}

}  // namespace titan::data
