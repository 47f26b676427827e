/// Training samples one after the other, without an end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/token_stream.h"

namespace titan::data {

class SampleSource {
 public:
  virtual ~SampleSource() = default;

  /// One sample: input tokens, and for each of them the token that should follow or kIgnoreIndex.
  /// Both have the same length, in every call.
  virtual void next(std::span<int64_t> tokens, std::span<int64_t> labels) = 0;

  /// The place before the next sample. Most sources have one part.
  virtual std::vector<StreamPosition> position() const = 0;
  /// Goes to a place that position() gave; a data error if the data has no such place.
  virtual void seek(const std::vector<StreamPosition>& position) = 0;

  /// Tokens of one pass over the data, or an upper bound.
  virtual int64_t token_count() const = 0;
  /// Size of the data in bytes, and a hash of what this rank reads first: they tell whether a
  /// position belongs to it.
  virtual int64_t total_bytes() const = 0;
  virtual int64_t fingerprint() = 0;
  /// Path of the data, for messages.
  virtual std::string where() const = 0;
};

/// FNV-1a (Fowler, Noll, Vo) in 63 bits, so that it is a number of any JSON reader.
int64_t fingerprint_of(std::span<const int64_t> numbers);

}  // namespace titan::data
