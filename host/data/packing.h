/// Documents as one stream of tokens: BOS, text, EOS, and the next document right behind.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/document_source.h"
#include "data/token_stream.h"
#include "data/tokenizer.h"

namespace titan::data {

struct PackingOptions {
  bool add_bos = true;  ///< in front of every document, if the tokenizer has one
  bool add_eos = true;  ///< behind every document, if the tokenizer has one
  /// A longer document is tokenized in pieces of about this size, as far as its tokenizer allows.
  int64_t piece_bytes = int64_t{1} << 20;
};

/// No padding; documents follow in the order of their source. Of a long document one piece is in
/// memory, if the tokenizer can tell where it may be cut, else all of it.
class PackedText final : public TokenStream {
 public:
  PackedText(std::unique_ptr<DocumentSource> source, std::unique_ptr<Tokenizer> tokenizer,
             const PackingOptions& options = {});

  void read(std::span<int64_t> out) override;
  StreamPosition position() const override { return position_; }
  void seek(const StreamPosition& position) override;
  int64_t token_count() const override;
  int64_t total_bytes() const override { return source_->total_bytes(); }
  std::string where() const override { return source_->where(); }

 private:
  void load_piece();
  void advance_piece();

  std::unique_ptr<DocumentSource> source_;
  std::unique_ptr<Tokenizer> tokenizer_;
  PackingOptions options_;
  StreamPosition position_;
  std::vector<int64_t> piece_;  ///< tokens of the piece at (document, byte)
  int64_t piece_end_ = 0;       ///< byte of the document where the piece ends
  bool last_piece_ = false;     ///< of the document
  std::string text_;            ///< of the document from the piece on
  int64_t fruitful_epoch_ = 0;  ///< in which there was a token last
};

}  // namespace titan::data
