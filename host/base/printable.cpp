#include "base/printable.h"
#include "base/text_list.h"

#include <cstdint>

namespace titan {
namespace {

/// Bytes of the well-formed UTF-8 character at the start of `text`; 0 if there is none.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // Over-long forms, surrogates and code points above U+10FFFF.
  if ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) > 0x9f) ||
      (lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) > 0x8f))
    return 0;
  return length;
}

/// Whether the character steers a terminal (C1) or the direction of writing, which lets a name show
/// as another one (U+200E, U+200F, U+202A..U+202E, U+2066..U+2069).
bool steers(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(character[i]); };
  if (character.size() == 2) return byte(0) == 0xc2 && byte(1) < 0xa0;
  if (character.size() != 3 || byte(0) != 0xe2) return false;
  const bool marks = byte(1) == 0x80 &&
                     (byte(2) == 0x8e || byte(2) == 0x8f || (byte(2) >= 0xaa && byte(2) <= 0xae));
  return marks || (byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9);
}

}  // namespace

std::string with_valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text.substr(i, 4));
    out += length == 0 ? "\xef\xbf\xbd" : text.substr(i, length);
    i += length == 0 ? 1 : length;
  }
  return out;
}

std::string printable_path(std::string_view path) {
  std::string text = printable(path);
  for (size_t at; (at = text.find('\n')) != std::string::npos;) text.replace(at, 1, "\\x0a");
  return text;
}

std::string shell_path(std::string_view path) { return shell_word(printable_path(path)); }

std::string printable(std::string_view text, size_t max_bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (out.size() >= max_bytes) return out + "...";
    const size_t length = utf8_length(text.substr(i, 4));
    const auto byte = static_cast<uint8_t>(text[i]);
    if (length == 0 || (length > 1 && steers(text.substr(i, length))) ||
        (length == 1 && (byte < 0x20 || byte == 0x7f) && byte != '\n')) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
      ++i;
    } else {
      out += text.substr(i, length);
      i += length;
    }
  }
  return out;
}

}  // namespace titan
