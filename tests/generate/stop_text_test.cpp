#include "generate/stop_text.h"

#include <gtest/gtest.h>

namespace titan::generate {
namespace {

/// What is shown after each piece, put together with '|'.
std::string shown(std::vector<std::string> stops, const std::vector<std::string>& pieces,
                  bool* stopped = nullptr) {
  StopText text(std::move(stops));
  std::string all;
  for (const std::string& piece : pieces) all += text.push(piece) + "|";
  all += text.finish();
  if (stopped) *stopped = text.stopped();
  return all;
}

TEST(StopText, WithoutStopsEverythingPassesAtOnce) {
  bool stopped = true;
  EXPECT_EQ(shown({}, {"a", "bc"}, &stopped), "a|bc|");
  EXPECT_FALSE(stopped);
  EXPECT_EQ(shown({""}, {"a", "bc"}), "a|bc|");
}

TEST(StopText, AStopInPiecesIsNeverShown) {
  bool stopped = false;
  EXPECT_EQ(shown({"END"}, {"one E", "N", "D two", "three"}, &stopped), "one ||||");
  EXPECT_TRUE(stopped);
}

TEST(StopText, WhatOnlyBeganLikeAStopIsShownLater) {
  bool stopped = true;
  EXPECT_EQ(shown({"END"}, {"an E", "EN", "Z"}, &stopped), "an |E|ENZ|");
  EXPECT_FALSE(stopped);
  EXPECT_EQ(shown({"END"}, {"an EN"}), "an |EN");
}

TEST(StopText, TheEarliestOfSeveralCounts) {
  EXPECT_EQ(shown({"two", "one"}, {"x one two"}), "x |");
  EXPECT_EQ(shown({"\n\n", "ab"}, {"x\n", "\ny"}), "x||");
  EXPECT_EQ(shown({"aab"}, {"aa", "ab"}), "|a|");
}

}  // namespace
}  // namespace titan::generate
