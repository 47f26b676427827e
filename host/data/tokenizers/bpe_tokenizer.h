/// The tokenizer that tokenizer.json and tiktoken files describe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer.h"
#include "data/tokenizers/added_tokens.h"
#include "data/tokenizers/bpe.h"
#include "data/tokenizers/pretokenizer.h"

namespace titan::data {

/// What happens to bytes that are no UTF-8. No byte is ever lost.
enum class InvalidUtf8 {
  /// Each run of such bytes is a piece of its own, and the text on both sides is encoded as if it
  /// ended and began there. (Hugging Face tokenizers take no such text.)
  kOwnPiece,
  /// All from the last piece before the first such byte is one piece to the end of the text, as
  /// in tiktoken's Encoding._encode_bytes.
  kRestIsOnePiece,
};

struct BpeTokenizerParts {
  std::shared_ptr<const Bpe> bpe;
  std::vector<SplitStage> stages;
  bool nfc = false;  ///< the text is normalized first
  std::vector<AddedToken> added;
  InvalidUtf8 invalid = InvalidUtf8::kOwnPiece;
  bool specials_are_text = true;  ///< special tokens written in the text are not taken for them
  std::optional<int64_t> bos, eos;
  bool adds_bos = true;  ///< if there is one
  int64_t vocab_size = 0;
  /// Of ids that no text gives and that are no added tokens.
  std::map<int64_t, std::string> other_bytes;
};

class BpeTokenizer final : public Tokenizer {
 public:
  explicit BpeTokenizer(std::shared_ptr<const BpeTokenizerParts> parts);

  int64_t vocab_size() const override { return parts_->vocab_size; }
  std::optional<int64_t> bos() const override { return parts_->bos; }
  std::optional<int64_t> eos() const override { return parts_->eos; }
  bool adds_bos() const override { return parts_->bos && parts_->adds_bos; }
  std::optional<int64_t> special_id(std::string_view text) const override;
  size_t encode_some(std::string_view text, bool last, std::vector<int64_t>& ids) override;
  std::optional<std::string_view> bytes_of(int64_t id) const override;
  std::unique_ptr<Tokenizer> another() const override;

 private:
  size_t encode_runs(std::string_view text, bool last, std::vector<int64_t>& ids);
  size_t encode_like_tiktoken(std::string_view text, bool last, std::vector<int64_t>& ids);
  void encode_with_rest(std::string_view text, size_t valid, std::vector<int64_t>& ids);
  /// `text` is valid. Returns how much of it was used.
  size_t encode_valid(std::string_view text, bool complete, std::vector<int64_t>& ids);
  /// Text without raw tokens.
  void encode_segment(std::string_view text, std::vector<int64_t>& ids);
  /// The same for text that goes on: only what is sure, at most `sure` bytes.
  size_t encode_open_segment(std::string_view text, size_t sure, std::vector<int64_t>& ids);
  void encode_pieces(std::string_view text, std::vector<int64_t>& ids);
  bool is_all_space(int64_t id) const;

  std::shared_ptr<const BpeTokenizerParts> parts_;
  AddedTokenSearch raw_tokens_, normalized_tokens_;
  std::map<int64_t, const AddedToken*> added_by_id_;
  Pretokenizer pretokenizer_;
  CachedBpe bpe_;
  bool cuts_;
  size_t last_piece_ids_ = 0;  ///< ids of the piece that was encoded last
};

}  // namespace titan::data
