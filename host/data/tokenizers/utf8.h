/// UTF-8 as tokenizers need it: what is valid, and single characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace titan::data {

/// How a text begins.
struct Utf8Prefix {
  size_t valid = 0;    ///< bytes of whole characters
  size_t invalid = 0;  ///< bytes behind them that belong to no character; 0: the text ends there
  bool truncated = false;  ///< the invalid bytes end the text and could begin a character
};

/// The longest valid beginning of `text`. What follows it is a maximal subpart in the sense of
/// Unicode 15, section 3.9: 1 to 3 bytes, which decoders replace by one U+FFFD.
Utf8Prefix utf8_prefix(std::string_view text);

/// The character that begins at `at` of a valid text; `at` moves behind it.
char32_t next_character(std::string_view text, size_t& at);
/// The character that ends at `end` (above 0) of a valid text.
char32_t character_before(std::string_view text, size_t end);

void append_utf8(char32_t character, std::string& to);

/// Property White_Space of the Unicode Character Database.
bool is_white_space(char32_t character);

/// Each maximal subpart that is no UTF-8 becomes U+FFFD, as Python's errors="replace" and Rust's
/// from_utf8_lossy do.
std::string with_replacements(std::string_view bytes);

}  // namespace titan::data
