/// The selector grammar: what matches, what is refused, and that no pattern is slow.
#include "base/glob.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/error.h"

namespace titan {
namespace {

struct GlobCase {
  const char* pattern;
  const char* name;
  bool matches;
};

TEST(Glob, MatchesWholeNamesSegmentBySegment) {
  const GlobCase cases[] = {
      {"layers.1", "layers.1", true},
      {"layers.1", "layers.10", false},
      {"layers.1", "layers.1.attention", false},
      {"layers.1", "xlayers.1", false},
      {"ayers.1", "layers.1", false},
      {"layers", "layers.1", false},
      {"layers.*", "layers.1", true},
      {"layers.*", "layers.10", true},
      {"layers.*", "layers", false},
      {"layers.*", "layers.1.attention", false},
      {"layers.1*", "layers.10", true},
      {"layers.1*", "layers.1", true},
      {"layers.1?", "layers.1", false},
      {"layers.1?", "layers.12", true},
      {"layers.?", "layers.12", false},
      {"layers.*.feed_forward.*", "layers.3.feed_forward.w2", true},
      {"layers.*.feed_forward.*", "layers.3.attention.wq", false},
      {"*.w[13]", "feed_forward.w1", true},
      {"*.w[13]", "feed_forward.w2", false},
      {"layers.[0-3].attention", "layers.2.attention", true},
      {"layers.[0-3].attention", "layers.4.attention", false},
      {"layers.[0-3]", "layers.12", false},
      {"w[!q]", "wk", true},
      {"w[!q]", "wq", false},
      {"w[a-]", "w-", true},
      {"**", "output", true},
      {"**", "layers.0.attention.wq", true},
      {"**.w1", "w1", true},
      {"**.w1", "layers.0.feed_forward.w1", true},
      {"**.w1", "layers.0.feed_forward.w11", false},
      {"layers.**", "layers", true},
      {"layers.**", "layers.0.attention", true},
      {"layers.**.w1", "layers.w1", true},
      {"layers.**.w1", "layers.0.feed_forward.w1", true},
      {"layers.**.feed_forward.**.w1", "layers.0.feed_forward.w1", true},
      {"a*b*c", "aXbYbZc", true},
      {"a*b*c", "aXbYbZ", false},
      {"*a*", "bab", true},
      {"*", "", true},
      {"?", "", false},
      {"Layers", "layers", false},
  };
  for (const GlobCase& c : cases)
    EXPECT_EQ(Glob::parse(c.pattern).matches(c.name), c.matches) << c.pattern << " on " << c.name;
}

TEST(Glob, KeepsItsText) { EXPECT_EQ(Glob::parse("layers.*.w1").text(), "layers.*.w1"); }

TEST(Glob, RefusesMalformedPatterns) {
  for (const char* text : {"",    ".",     "a.",  ".a",    "a..b",       "a**",   "**a", "a.***.b",
                           "[",   "[a",    "[]",  "[!]",   "a.[b.c]",    "[b-a]", "a]",  "a b",
                           "a/b", "{a,b}", "a,b", "[a/b]", "layers.\n1", "(a|b)", "^a$"}) {
    try {
      Glob::parse(text);
      ADD_FAILURE() << "accepted: '" << text << "'";
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), ExitStatus::kUsage) << text;
      EXPECT_NE(std::string(error.what()).find("'" + std::string(text) + "'"), std::string::npos);
      EXPECT_FALSE(error.hint().empty()) << text;
    }
  }
}

TEST(Glob, NoPatternTakesExponentialTime) {
  std::string stars, segments, name(2000, 'a'), path = "a";
  for (int i = 0; i < 200; ++i) stars += "*a", segments += "**.a.", path += ".a";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(Glob::parse(stars + "*b").matches(name));
  EXPECT_FALSE(Glob::parse(segments + "b").matches(path));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

}  // namespace
}  // namespace titan
