/// UTF-8: every code point and every kind of malformed sequence.
#include "data/tokenizers/utf8.h"

#include <gtest/gtest.h>

namespace titan::data {
namespace {

TEST(Utf8Test, EveryCharacterIsValidAndComesBack) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    append_utf8(c, text);
    ASSERT_EQ(utf8_prefix(text).valid, text.size()) << static_cast<uint32_t>(c);
    size_t at = 0;
    ASSERT_EQ(next_character(text, at), c);
    ASSERT_EQ(at, text.size());
    ASSERT_EQ(character_before("x" + text, text.size() + 1), c);
  }
}

TEST(Utf8Test, FindsTheFirstInvalidPart) {
  struct Case {
    std::string_view text;
    size_t valid, invalid;
    bool truncated;
  };
  const Case cases[] = {
      {"", 0, 0, false},
      {"abcdefgh", 8, 0, false},
      {"abcdefghi\xff", 9, 1, false},
      {"a\x80z", 1, 1, false},
      {"\xc0\xaf", 0, 1, false},          // overlong
      {"\xed\xa0\x80", 0, 1, false},      // a surrogate
      {"\xf4\x90\x80\x80", 0, 1, false},  // beyond U+10FFFF
      {"\xe0\x80\x80", 0, 1, false},      // overlong
      {"ab\xe4\xb8", 2, 2, true},
      {"\xe4\xb8z", 0, 2, false},
      {"\xf0\x9f\x99", 0, 3, true},
      {"\xf0\x9f\x99 ", 0, 3, false},
      {"\xc3", 0, 1, true},
      {"\xf5", 0, 1, false},
  };
  for (const Case& c : cases) {
    const Utf8Prefix prefix = utf8_prefix(c.text);
    EXPECT_EQ(prefix.valid, c.valid) << c.text;
    EXPECT_EQ(prefix.invalid, c.invalid) << c.text;
    EXPECT_EQ(prefix.truncated, c.truncated) << c.text;
  }
}

TEST(Utf8Test, ReplacesEachMaximalSubpart) {
  // Table 3-8 of the Unicode Standard 15.
  EXPECT_EQ(with_replacements("\xF0\x80\x80\x41"),
            "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
            "A");
  EXPECT_EQ(with_replacements("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
            "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
            "b\xEF\xBF\xBD"
            "c\xEF\xBF\xBD\xEF\xBF\xBD"
            "d");
  EXPECT_EQ(with_replacements("plain"), "plain");
}

TEST(Utf8Test, WhiteSpaceIsUnicodes) {
  int count = 0;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) count += is_white_space(c) ? 1 : 0;
  EXPECT_EQ(count, 25);
  EXPECT_FALSE(is_white_space(0x180E));
  EXPECT_FALSE(is_white_space(0x200B));
  EXPECT_FALSE(is_white_space(0x1C));
}

}  // namespace
}  // namespace titan::data
