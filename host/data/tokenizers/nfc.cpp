#include "data/tokenizers/nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "data/tokenizers/utf8.h"

namespace titan::data {
namespace {

/// Below it nothing combines and nothing decomposes in form C.
constexpr char32_t kFirstCombining = 0x300;
constexpr utf8proc_option_t kCompose =
    static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);

int combining_class(utf8proc_int32_t character) {
  return utf8proc_get_property(character)->combining_class;
}

/// Appends a part whose neighbours do not combine with it. Why not utf8proc_map(): its sort of
/// combining marks takes quadratic time.
void normalize_part(std::string_view part, std::string& out) {
  std::vector<utf8proc_int32_t> characters;
  for (size_t at = 0; at < part.size();) {
    utf8proc_int32_t pieces[32];
    int boundary = 0;
    const auto count = utf8proc_decompose_char(
        static_cast<utf8proc_int32_t>(next_character(part, at)), pieces, 32, kCompose, &boundary);
    if (count < 0 || count > 32) throw internal_error("utf8proc cannot decompose a character");
    characters.insert(characters.end(), pieces, pieces + count);
  }
  // Marks between two starters go into the order of their classes; equal ones keep theirs.
  for (auto begin = characters.begin(); begin != characters.end();) {
    if (combining_class(*begin) == 0) {
      ++begin;
      continue;
    }
    const auto end = std::find_if(begin, characters.end(),
                                  [](utf8proc_int32_t c) { return combining_class(c) == 0; });
    std::stable_sort(begin, end, [](utf8proc_int32_t a, utf8proc_int32_t b) {
      return combining_class(a) < combining_class(b);
    });
    begin = end;
  }
  const auto length = utf8proc_normalize_utf32(
      characters.data(), static_cast<utf8proc_ssize_t>(characters.size()), kCompose);
  if (length < 0) throw internal_error("utf8proc cannot compose characters");
  for (utf8proc_ssize_t i = 0; i < length; ++i)
    append_utf8(static_cast<char32_t>(characters[static_cast<size_t>(i)]), out);
}

}  // namespace

std::string to_nfc(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  size_t copied = 0;  // up to here `out` is complete
  size_t before = 0;  // where the last character begins: the base of a mark
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    if (next_character(text, at) < kFirstCombining) {
      before = begin;
      continue;
    }
    // From the base to the next ASCII character, which combines with nothing before it.
    while (at < text.size() && static_cast<unsigned char>(text[at]) >= 0x80)
      next_character(text, at);
    const size_t part = std::max(copied, before);
    out += text.substr(copied, part - copied);
    normalize_part(text.substr(part, at - part), out);
    copied = before = at;
  }
  out += text.substr(copied);
  return out;
}

}  // namespace titan::data
