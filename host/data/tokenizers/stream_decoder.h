/// Ids back to text one by one, in whole characters.
#pragma once

#include <cstdint>
#include <string>

#include "data/tokenizer.h"

namespace titan::data {

/// What push() and finish() return, put together, is Tokenizer::decode() with each maximal invalid
/// part replaced by U+FFFD; every single result is valid UTF-8, so no character is ever split.
class StreamDecoder {
 public:
  /// The tokenizer must outlive this object.
  explicit StreamDecoder(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// The characters that this id completes; often one, sometimes none.
  std::string push(int64_t id);
  /// What is left of a character that never became whole: U+FFFD, or nothing.
  std::string finish();

 private:
  const Tokenizer& tokenizer_;
  std::string waiting_;  ///< the beginning of a character
};

}  // namespace titan::data
