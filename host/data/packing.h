/// Documents as one stream of tokens: BOS, text, EOS, and the next document right behind.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "data/text_source.h"
#include "data/token_stream.h"
#include "data/tokenizer.h"

namespace titan::data {

/// No padding, no shuffling; documents follow in the order of their source. A long document is
/// held in memory one piece at a time if its tokenizer allows.
class PackedText final : public TokenStream {
 public:
  static constexpr int64_t kPieceBytes = 1 << 20;

  PackedText(TextSource source, std::unique_ptr<const Tokenizer> tokenizer,
             int64_t piece_bytes = kPieceBytes);

  void read(std::span<int64_t> out) override;
  StreamPosition position() const override { return position_; }
  void seek(const StreamPosition& position) override;
  int64_t token_count() const override;
  int64_t total_bytes() const override { return source_.total_bytes(); }
  std::string where() const override { return source_.path().string(); }

 private:
  void load_piece();
  void advance_piece();

  TextSource source_;
  std::unique_ptr<const Tokenizer> tokenizer_;
  int64_t piece_bytes_;
  StreamPosition position_;
  std::vector<int64_t> piece_;  ///< tokens of the piece at (document, byte)
  int64_t piece_end_ = 0;       ///< byte of the document where the piece ends
  std::optional<RegularFile> document_;
  int64_t open_document_ = -1;  ///< index of `document_`
};

}  // namespace titan::data
