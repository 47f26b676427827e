#include "data/tokenizers/utf8.h"

#include <cstring>

namespace titan::data {
namespace {

/// What may follow a first byte (Unicode 15, table 3-7): number of bytes and range of the second.
struct LeadByte {
  size_t size;
  unsigned char low, high;
};

LeadByte lead_byte(unsigned char c) {
  if (c < 0xC2 || c > 0xF4) return {0, 0, 0};
  if (c < 0xE0) return {2, 0x80, 0xBF};
  if (c == 0xE0) return {3, 0xA0, 0xBF};
  if (c == 0xED) return {3, 0x80, 0x9F};
  if (c < 0xF0) return {3, 0x80, 0xBF};
  if (c == 0xF0) return {4, 0x90, 0xBF};
  if (c == 0xF4) return {4, 0x80, 0x8F};
  return {4, 0x80, 0xBF};
}

bool eight_are_ascii(const char* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return (word & 0x8080808080808080u) == 0;
}

}  // namespace

Utf8Prefix utf8_prefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    if (at + 8 <= text.size() && eight_are_ascii(text.data() + at)) {
      at += 8;
      continue;
    }
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
    if (byte(0) < 0x80) {
      ++at;
      continue;
    }
    const LeadByte lead = lead_byte(byte(0));
    size_t good = lead.size == 0 ? 0 : 1;
    while (good > 0 && good < lead.size && at + good < text.size()) {
      const unsigned char low = good == 1 ? lead.low : 0x80, high = good == 1 ? lead.high : 0xBF;
      if (byte(good) < low || byte(good) > high) break;
      ++good;
    }
    if (lead.size == 0 || good < lead.size)
      return {at, good == 0 ? 1 : good, lead.size > 0 && at + good == text.size()};
    at += lead.size;
  }
  return {at, 0, false};
}

char32_t next_character(std::string_view text, size_t& at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char first = byte(0);
  const size_t size = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  char32_t character = size == 1 ? first : first & (0x7Fu >> size);
  for (size_t i = 1; i < size; ++i) character = character << 6 | (byte(i) & 0x3Fu);
  at += size;
  return character;
}

char32_t character_before(std::string_view text, size_t end) {
  do --end;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u);
  return next_character(text, end);
}

void append_utf8(char32_t character, std::string& to) {
  const auto tail = [&](int shift) {
    to.push_back(static_cast<char>(0x80u | (character >> shift & 0x3Fu)));
  };
  if (character < 0x80) {
    to.push_back(static_cast<char>(character));
  } else if (character < 0x800) {
    to.push_back(static_cast<char>(0xC0u | character >> 6));
    tail(0);
  } else if (character < 0x10000) {
    to.push_back(static_cast<char>(0xE0u | character >> 12));
    tail(6), tail(0);
  } else {
    to.push_back(static_cast<char>(0xF0u | character >> 18));
    tail(12), tail(6), tail(0);
  }
}

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

std::string with_replacements(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Prefix prefix = utf8_prefix(bytes);
    text += bytes.substr(0, prefix.valid);
    if (prefix.invalid > 0) text += "\xEF\xBF\xBD";
    bytes.remove_prefix(prefix.valid + prefix.invalid);
  }
  return text;
}

}  // namespace titan::data
