/// An endless stream of token ids whose place can be kept and found again.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace titan::data {

/// A place between two tokens. Plain numbers, so that checkpoints can hold it.
struct StreamPosition {
  int64_t epoch = 0;  ///< how often the data began again
  int64_t document =
      0;                ///< text: which document; JSON lines: which one of those held for shuffling
  int64_t byte = 0;     ///< text: where the piece being read begins in the document
  int64_t token = 0;    ///< next token, counted in the piece (text) or in the file (tokens)
  int64_t file = 0;     ///< JSON lines: which file, in the order of this epoch
  int64_t offset = 0;   ///< JSON lines: byte of that file, decompressed, where those held begin
  int64_t ordinal = 0;  ///< JSON lines: lines of this epoch before them
  bool operator==(const StreamPosition&) const = default;
};

/// The part of the data that one rank of data-parallel training reads.
struct DataShare {
  int64_t rank = 0;
  int64_t ranks = 1;
};

class TokenStream {
 public:
  virtual ~TokenStream() = default;

  /// Fills `out` with the next tokens. At the end of the data it begins again.
  virtual void read(std::span<int64_t> out) = 0;
  /// Leaves out the next `count` tokens.
  virtual void skip(int64_t count);

  virtual StreamPosition position() const = 0;
  /// Goes to a place that position() gave; a data error if the data has no such place.
  virtual void seek(const StreamPosition& position) = 0;

  /// Tokens of one pass over the data; for text that is not yet tokenized an upper bound.
  virtual int64_t token_count() const = 0;
  /// Size of the data in bytes: tells whether a position belongs to it.
  virtual int64_t total_bytes() const = 0;
  /// Path of the data, for messages.
  virtual std::string where() const = 0;
};

}  // namespace titan::data
