#include "data/tokenizers/pattern_dialect.h"

#include <array>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "base/printable.h"
#include "data/tokenizers/unicode_additions.h"

namespace titan::data {
namespace {

/// White_Space; PCRE2's \s holds U+180E as well.
constexpr const char* kWhiteSpace =
    "\\x09-\\x0d\\x20\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}"
    "\\x{3000}";

constexpr std::array<std::string_view, 30> kCategories = {
    "L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",  "Nd", "Nl", "No", "P",
    "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S",  "Sm", "Sc", "Sk", "So", "Z",  "Zs", "Zl"};

bool is_category(std::string_view name) {
  for (const std::string_view category : kCategories)
    if (category == name) return true;
  return name == "Zp";
}

std::string in_braces(char32_t character) {
  char text[16];
  std::snprintf(text, sizeof text, "\\x{%x}", static_cast<unsigned>(character));
  return text;
}

/// Members of a class: the category as PCRE2 knows it, and its characters of later Unicode.
std::string category_members(std::string_view name) {
  std::string members = "\\p{" + std::string(name) + "}";
  for (const AddedCharacters& added : kAddedCharacters)
    if (added.category.starts_with(name))
      members += in_braces(added.first) + "-" + in_braces(added.last);
  return members;
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_hex_digit(char c) {
  return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || (c >= '0' && c <= '9');
}

class Translator {
 public:
  Translator(std::string_view pattern, PatternDialect dialect, const std::string& where)
      : pattern_(pattern), dialect_(dialect), where_(where) {}

  std::string run() {
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_];
      if (c == '\\')
        escape(/*in_class=*/false);
      else if (c == '[')
        character_class();
      else if (c == '(')
        group();
      else if (c == '{')
        counted();
      else
        out_ += c, ++at_;
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw data_error(
        "the pattern uses " + what + " at byte " + std::to_string(at_) +
            ", which is not supported: " + printable(pattern_, 300),
        where_,
        "supported are literals, classes, groups (?:..) and (?i:..), lookaround, atomic "
        "groups, quantifiers, \\s \\d \\p{..} with general categories, and escaped "
        "punctuation");
  }

  bool follows(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }

  void group() {
    if (!follows("(?")) {
      out_ += '(', ++at_;
      return;
    }
    for (const std::string_view opening : {"(?:", "(?i:", "(?=", "(?!", "(?<=", "(?<!", "(?>"})
      if (follows(opening)) {
        out_ += opening;
        at_ += opening.size();
        return;
      }
    refuse("'" + std::string(pattern_.substr(at_, 4)) + "'");
  }

  /// {n}, {n,}, {n,m}; a brace that is none of them means different things to different engines.
  void counted() {
    size_t end = at_ + 1;
    const auto digits = [&] {
      const size_t begin = end;
      while (end < pattern_.size() && pattern_[end] >= '0' && pattern_[end] <= '9') ++end;
      return end > begin;
    };
    bool good = digits();
    if (good && end < pattern_.size() && pattern_[end] == ',') ++end, digits();
    good = good && end < pattern_.size() && pattern_[end] == '}';
    if (!good) refuse("a brace that is no quantifier (escape it)");
    out_ += pattern_.substr(at_, end + 1 - at_);
    at_ = end + 1;
    // Ruby syntax repeats the quantified part there, others make it possessive.
    if (dialect_ == PatternDialect::kOniguruma && follows("+"))
      refuse("'+' behind a quantifier in braces");
  }

  void character_class() {
    out_ += '[', ++at_;
    if (follows("^")) out_ += '^', ++at_;
    if (follows("]")) refuse("an empty class");
    while (!follows("]")) {
      if (at_ == pattern_.size()) refuse("a class without an end");
      if (follows("[")) refuse("'[' inside a class (escape it)");
      if (follows("&&")) refuse("an intersection of classes (&&)");
      if (dialect_ == PatternDialect::kRust && (follows("--") || follows("~~")))
        refuse("a difference of classes");
      if (follows("\\"))
        escape(/*in_class=*/true);
      else
        out_ += pattern_[at_++];
    }
    out_ += ']', ++at_;
  }

  void members(const std::string& text, bool in_class) {
    out_ += in_class ? text : "[" + text + "]";
  }

  void escape(bool in_class) {
    if (at_ + 1 == pattern_.size()) refuse("a backslash at its end");
    const char c = pattern_[at_ + 1];
    if (static_cast<unsigned char>(c) >= 0x80) refuse("an escaped character beyond ASCII");
    if (!is_letter_or_digit(c)) {
      out_ += pattern_.substr(at_, 2);
    } else if (c == 'p' || c == 'P') {
      property(in_class);
      return;
    } else if (c == 'x' || c == 'u') {
      code_point();
      return;
    } else if (c == 's') {
      members(kWhiteSpace, in_class);
    } else if (c == 'd') {
      members(category_members("Nd"), in_class);
    } else if (c == 'S') {
      out_ += in_class ? "\\S\\x{180e}" : std::string("[^") + kWhiteSpace + "]";
    } else if (c == 'D' && !in_class) {
      out_ += "[^" + category_members("Nd") + "]";
    } else if (c == 'v') {
      out_ += "\\x0b";  // PCRE2's \v is any vertical space
    } else if (std::strchr("rntfae", c) || (!in_class && (c == 'A' || c == 'z'))) {
      out_ += pattern_.substr(at_, 2);
    } else {
      refuse("'\\" + std::string(1, c) + "'" + (in_class ? " inside a class" : ""));
    }
    at_ += 2;
  }

  /// \p{Lu}, \P{Lu}, \p{^Lu}, \pL.
  void property(bool in_class) {
    bool negated = pattern_[at_ + 1] == 'P';
    size_t end = at_ + 2;
    std::string_view name;
    if (end < pattern_.size() && pattern_[end] == '{') {
      const size_t close = pattern_.find('}', end);
      if (close == std::string_view::npos) refuse("'\\p{' without an end");
      name = pattern_.substr(end + 1, close - end - 1);
      end = close + 1;
    } else {
      name = pattern_.substr(end, 1);
      ++end;
    }
    if (dialect_ == PatternDialect::kOniguruma && name.starts_with('^')) {
      negated = !negated;
      name.remove_prefix(1);
    }
    if (!is_category(name)) refuse("the property '" + printable(name, 40) + "'");
    if (negated && in_class) refuse("a negated property inside a class");
    if (negated)
      out_ += "[^" + category_members(name) + "]";
    else
      members(category_members(name), in_class);
    at_ = end;
  }

  /// \xHH below 80, \x{H..}, \uHHHH, \u{H..}.
  void code_point() {
    const bool four = pattern_[at_ + 1] == 'u';
    size_t begin = at_ + 2, end = begin;
    if (begin < pattern_.size() && pattern_[begin] == '{') {
      const size_t close = pattern_.find('}', begin);
      if (close == std::string_view::npos) refuse("a code point without an end");
      ++begin;
      end = close;
    } else {
      end = begin + (four ? 4 : 2);
    }
    if (end > pattern_.size() || end == begin || end - begin > 6) refuse("a malformed code point");
    char32_t value = 0;
    for (size_t i = begin; i < end; ++i) {
      const char c = pattern_[i];
      if (!is_hex_digit(c)) refuse("a malformed code point");
      value = value * 16 + static_cast<char32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    const bool braced = pattern_[begin - 1] == '{';
    if (!braced && !four && value >= 0x80) refuse("a byte that is no character (\\x80 to \\xff)");
    if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
      refuse("a code point that does not exist");
    out_ += in_braces(value);
    at_ = end + (braced ? 1 : 0);
  }

  std::string_view pattern_;
  PatternDialect dialect_;
  const std::string& where_;
  size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string to_pcre2(std::string_view pattern, PatternDialect dialect, const std::string& where) {
  return Translator(pattern, dialect, where).run();
}

std::string literal_pattern(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x80 && !is_letter_or_digit(c)) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace titan::data
