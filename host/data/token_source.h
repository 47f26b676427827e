/// A file of token ids: little-endian numbers of one type, no header.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/regular_file.h"
#include "data/token_stream.h"

namespace titan::data {

enum class TokenType { kUint16, kInt32, kUint32 };

/// "uint16", "int32" or "uint32"; a usage error for anything else.
TokenType parse_token_type(std::string_view name);
/// Bytes of one id.
int64_t token_bytes(TokenType type);

/// Shuffled, an epoch permutes samples of `sample_tokens` tokens; what is left at the end of the
/// file is left out then.
struct TokenOrder {
  bool shuffle = false;
  int64_t seed = 0;
  int64_t sample_tokens = 0;
};

/// Every id that is read is checked against the vocabulary. Files up to kCheckedBytes are checked
/// as a whole when they are opened, so that a wrong one is refused before the first step.
class TokenFile final : public TokenStream {
 public:
  static constexpr int64_t kCheckedBytes = int64_t{1} << 28;

  TokenFile(const std::filesystem::path& path, TokenType type, int64_t vocab_size,
            const TokenOrder& order = {});

  void read(std::span<int64_t> out) override;
  void skip(int64_t count) override;
  StreamPosition position() const override { return position_; }
  void seek(const StreamPosition& position) override;
  int64_t token_count() const override { return end_ > 0 ? end_ : count_; }
  int64_t total_bytes() const override { return file_.size(); }
  std::string where() const override { return file_.path().string(); }

 private:
  /// Tokens [begin, begin + out.size()).
  void read_at(int64_t begin, std::span<int64_t> out);

  RegularFile file_;
  TokenType type_;
  int64_t vocab_size_;
  TokenOrder order_;
  int64_t count_ = 0;
  int64_t end_ = 0;  ///< of an epoch: count_, or the whole samples in it
  StreamPosition position_;
  std::vector<unsigned char> bytes_;  ///< reused between reads
};

}  // namespace titan::data
