/// Text to token ids and back.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace titan::data {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Ids are 0 .. vocab_size() - 1, special ones included.
  virtual int64_t vocab_size() const = 0;
  virtual int64_t bos() const = 0;
  virtual int64_t eos() const = 0;

  /// Appends the ids of `text`, without any special id.
  virtual void encode(std::string_view text, std::vector<int64_t>& ids) const = 0;
  /// Special ids leave nothing; an id that the vocabulary lacks shows as U+FFFD.
  virtual std::string decode(std::span<const int64_t> ids) const = 0;

  /// Whether text may be cut anywhere without changing its ids. Long documents are then read in
  /// pieces, others as a whole.
  virtual bool cuts_anywhere() const = 0;
};

/// One id a byte: needs no vocabulary file and can express any input.
class ByteTokenizer final : public Tokenizer {
 public:
  static constexpr int64_t kBos = 256;
  static constexpr int64_t kEos = 257;
  static constexpr int64_t kPad = 258;
  static constexpr int64_t kVocabSize = 259;

  int64_t vocab_size() const override { return kVocabSize; }
  int64_t bos() const override { return kBos; }
  int64_t eos() const override { return kEos; }
  void encode(std::string_view text, std::vector<int64_t>& ids) const override;
  std::string decode(std::span<const int64_t> ids) const override;
  bool cuts_anywhere() const override { return true; }
};

}  // namespace titan::data
