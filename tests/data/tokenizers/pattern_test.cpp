/// Patterns: what they match, what is refused, and that text may go on.
#include "data/tokenizers/pattern.h"

#include <gtest/gtest.h>

#include "data/tokenizers/pretokenizer.h"
#include "support/expect_error.h"

namespace titan::data {
namespace {

using test::expect_error;

std::vector<std::string> matches_of(const std::string& pattern, std::string_view text,
                                    PatternDialect dialect = PatternDialect::kOniguruma) {
  Matcher matcher(std::make_shared<Pattern>(pattern, dialect, "test"));
  MatchIterator iterator(matcher, text, true);
  std::vector<std::string> found;
  size_t begin = 0, end = 0;
  while (iterator.next(begin, end) == Matcher::Found::kMatch)
    found.emplace_back(text.substr(begin, end - begin));
  return found;
}

using Strings = std::vector<std::string>;

TEST(PatternTest, ClassesFollowUnicode) {
  EXPECT_EQ(matches_of(R"(\p{L}+)", "aß日1_"), (Strings{"aß日"}));
  EXPECT_EQ(matches_of(R"(\s)", "a\xe1\xa0\x8e\xe2\x80\x83"), (Strings{"\xe2\x80\x83"}))
      << "U+180E is no white space";
  EXPECT_EQ(matches_of(R"([^\s]+)", "a\xe1\xa0\x8e b"), (Strings{"a\xe1\xa0\x8e", "b"}));
  EXPECT_EQ(matches_of(R"([\S]+)", "a\xe1\xa0\x8e b"), (Strings{"a\xe1\xa0\x8e", "b"}));
  EXPECT_EQ(matches_of(R"(\p{Nd})", "1\xe0\xa5\xa7\xe2\x85\xa7"), (Strings{"1", "\xe0\xa5\xa7"}));
  EXPECT_EQ(matches_of(R"(\P{L}+)", "ab12"), (Strings{"12"}));
  EXPECT_EQ(matches_of(R"(\p{^L}+)", "ab12"), (Strings{"12"}));
}

TEST(PatternTest, CharactersOfUnicode16AreKnown) {
  // U+31350 came with 15.0, U+2EBF0 with 15.1, U+10D40 with 16.0.
  EXPECT_EQ(matches_of(R"(\p{L})", "\xf0\xb1\x8d\x90\xf0\xae\xaf\xb0").size(), 2u);
  EXPECT_EQ(matches_of(R"([\p{N}x])", "\xf0\x90\xb5\x80").size(), 1u);
  EXPECT_EQ(matches_of(R"([^\p{N}])", "\xf0\x90\xb5\x80").size(), 0u);
  EXPECT_EQ(matches_of(R"(\P{N})", "\xf0\x90\xb5\x80").size(), 0u);
}

TEST(PatternTest, TheDialectsDifferInLines) {
  EXPECT_EQ(matches_of(" +$", "a  \nb ", PatternDialect::kOniguruma), (Strings{"  ", " "}));
  EXPECT_EQ(matches_of(" +$", "a  \nb ", PatternDialect::kRust), (Strings{" "}));
  EXPECT_EQ(matches_of(" +$", "a \n", PatternDialect::kRust), Strings{})
      << "the end is the very end";
  EXPECT_EQ(matches_of(R"(\p{N}{1,3}+)", "12345", PatternDialect::kRust), (Strings{"123", "45"}));
}

TEST(PatternTest, EmptyMatchesCountAsInTheOriginals) {
  EXPECT_EQ(matches_of("a*", "baac"), (Strings{"", "aa", ""})) << "none right behind a match";
  EXPECT_EQ(matches_of("x?", "é"), (Strings{"", ""}));
}

TEST(PatternTest, SaysWhenMoreTextCouldMatter) {
  Matcher matcher(
      std::make_shared<Pattern>(R"( ?\p{L}+|\s+(?!\S)|\s+)", PatternDialect::kRust, "test"));
  size_t begin = 0, end = 0;
  EXPECT_EQ(matcher.find("ab cd", 0, false, begin, end), Matcher::Found::kMatch);
  EXPECT_EQ(end, 2u);
  EXPECT_EQ(matcher.find("ab cd", 2, false, begin, end), Matcher::Found::kUnsure);
  EXPECT_EQ(matcher.find("ab  ", 2, false, begin, end), Matcher::Found::kUnsure);
  EXPECT_EQ(matcher.find("ab  ", 2, true, begin, end), Matcher::Found::kMatch);
  EXPECT_EQ(end, 4u);
}

TEST(PatternTest, RefusesWhatEnginesReadDifferently) {
  for (const char* pattern :
       {R"(\bfoo)",      R"(\w+)",         R"(\h)",    R"(a{,3})",   R"({)",
        R"([a[bc]])",    R"([a&&b])",      R"((?i)a)", R"((?<n>a))", R"(\p{Greek})",
        R"([\P{L}])",    R"(\p{L}{1,3}+)", R"(\R)",    R"(\1)",      R"(\x80)",
        R"(\x{110000})", R"([)",           R"(\p{L)",  R"(a\)",      R"([])"})
    expect_error(ExitStatus::kData, {"not supported", "the pattern uses"},
                 [&] { Pattern compiled(pattern, PatternDialect::kOniguruma, "file.json"); });
  expect_error(ExitStatus::kData, {"malformed", "a)", "file.json"},
               [] { Pattern compiled("a)", PatternDialect::kOniguruma, "file.json"); });
  expect_error(ExitStatus::kData, {"70000 bytes"}, [] {
    Pattern compiled(std::string(70000, 'a'), PatternDialect::kRust, "file.json");
  });
}

TEST(PatternTest, ExponentialSearchesEnd) {
  Matcher matcher(std::make_shared<Pattern>("(?:a+)+$", PatternDialect::kRust, "slow.json"));
  size_t begin = 0, end = 0;
  expect_error(ExitStatus::kData, {"cannot be matched", "41 bytes", "slow.json"},
               [&] { matcher.find(std::string(40, 'a') + "b", 0, true, begin, end); });
}

TEST(PatternTest, LiteralsMatchThemselves) {
  const std::string text = "a.b*[c]\\(d)\n-{1} é";
  EXPECT_EQ(matches_of(literal_pattern(text), "x" + text + "y"), Strings{text});
}

Strings pieces(std::vector<SplitStage> stages, std::string_view text) {
  Strings found;
  Pretokenizer(stages).run(text, true, [&](std::string_view piece) { found.emplace_back(piece); });
  return found;
}

SplitStage stage(const char* pattern, SplitBehavior behavior, bool invert = false) {
  SplitStage result;
  result.pattern = std::make_shared<Pattern>(pattern, PatternDialect::kOniguruma, "test");
  result.behavior = behavior;
  result.invert = invert;
  return result;
}

TEST(PretokenizerTest, EachBehaviourCutsAsItsNameSays) {
  const std::string_view text = "the-final--countdown";
  const auto cut = [&](SplitBehavior behavior) { return pieces({stage("-", behavior)}, text); };
  EXPECT_EQ(cut(SplitBehavior::kRemoved), (Strings{"the", "final", "countdown"}));
  EXPECT_EQ(cut(SplitBehavior::kIsolated), (Strings{"the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(cut(SplitBehavior::kMergedWithPrevious), (Strings{"the-", "final-", "-", "countdown"}));
  EXPECT_EQ(cut(SplitBehavior::kMergedWithNext), (Strings{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(cut(SplitBehavior::kContiguous), (Strings{"the", "-", "final", "--", "countdown"}));
  EXPECT_EQ(pieces({stage("[a-z]+", SplitBehavior::kRemoved, true)}, text),
            (Strings{"the", "final", "countdown"}));
}

TEST(PretokenizerTest, StagesFollowEachOther) {
  SplitStage space;
  space.prefix_space = true;
  EXPECT_EQ(pieces({stage("[0-9]", SplitBehavior::kIsolated), space}, "ab12 c"),
            (Strings{" ab", " 1", " 2", " c"}));
  EXPECT_EQ(pieces({}, "ab c"), (Strings{"ab c"}));
}

}  // namespace
}  // namespace titan::data
