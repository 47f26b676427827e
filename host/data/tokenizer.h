/// Text to token ids and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace titan::data {

/// Encoding fills caches: one thread at a time; another() gives the next thread one of its own.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Ids are 0 .. vocab_size() - 1, special ones included.
  virtual int64_t vocab_size() const = 0;
  /// The ids that begin and end a document; nothing if the vocabulary has none.
  virtual std::optional<int64_t> bos() const = 0;
  virtual std::optional<int64_t> eos() const = 0;
  /// Whether a text for the model begins with bos() unless one says otherwise: what its own
  /// software does.
  virtual bool adds_bos() const { return bos().has_value(); }
  /// The id of a special token by its text, "<|im_start|>"; nothing if there is none.
  virtual std::optional<int64_t> special_id(std::string_view text) const = 0;

  /// Appends the ids of all of `text`, which may be any bytes; no BOS, no EOS.
  void encode(std::string_view text, std::vector<int64_t>& ids) { encode_some(text, true, ids); }
  /// The same for a text of which more follows (not `last`): appends the ids that cannot change any
  /// more and returns how many bytes they stand for. 0: more text is needed to tell.
  virtual size_t encode_some(std::string_view text, bool last, std::vector<int64_t>& ids) = 0;

  /// The bytes that an id stands for: not always whole characters, empty for special ids; nothing
  /// for an id that the vocabulary lacks.
  virtual std::optional<std::string_view> bytes_of(int64_t id) const = 0;
  /// Special ids leave nothing; an id that the vocabulary lacks shows as U+FFFD.
  std::string decode(std::span<const int64_t> ids) const;

  /// The same tokenizer for another thread; the vocabulary is shared.
  virtual std::unique_ptr<Tokenizer> another() const = 0;
};

/// One id a byte: needs no vocabulary file and can express any input.
class ByteTokenizer final : public Tokenizer {
 public:
  static constexpr int64_t kBos = 256;
  static constexpr int64_t kEos = 257;
  static constexpr int64_t kPad = 258;
  static constexpr int64_t kVocabSize = 259;

  int64_t vocab_size() const override { return kVocabSize; }
  std::optional<int64_t> bos() const override { return kBos; }
  std::optional<int64_t> eos() const override { return kEos; }
  std::optional<int64_t> special_id(std::string_view) const override { return std::nullopt; }
  size_t encode_some(std::string_view text, bool last, std::vector<int64_t>& ids) override;
  std::optional<std::string_view> bytes_of(int64_t id) const override;
  std::unique_ptr<Tokenizer> another() const override { return std::make_unique<ByteTokenizer>(); }
};

}  // namespace titan::data
