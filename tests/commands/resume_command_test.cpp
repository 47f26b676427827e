/// The printed command means to a shell what the user typed.
#include "commands/resume_command.h"
#include "base/text_list.h"

#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>

namespace titan::commands {
namespace {

TEST(ResumeCommandTest, AShellReadsEveryWordBack) {
  const std::vector<std::string> words = {
      "titan", "a b", "it's",        "$HOME",  "",         "x;y",   "*",    "\"",      "a\\b",
      "~",     "#x",  "line\nbreak", "[a, b]", "{k: 'v'}", "plain", "`id`", "a=b,c:/d"};
  const std::string command = "printf '%s|' " + shell_text(words);
  FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string output, expected;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) output += static_cast<char>(c);
  ASSERT_EQ(pclose(pipe), 0);
  for (const std::string& word : words) expected += word + "|";
  EXPECT_EQ(output, expected);
}

TEST(ResumeCommandTest, PlainWordsStayAsTheyAre) {
  EXPECT_EQ(shell_text({"titan", "train", "c.yaml", "--optimizer.lr=3e-4"}),
            "titan train c.yaml --optimizer.lr=3e-4");
}

TEST(ResumeCommandTest, OverridesWhatWouldKeepTheRunFromGoingOn) {
  unsetenv("TITAN_DATA_DIR");
  setenv("TITAN_PLUGIN_PATH", "/my plugins", 1);
  config::Config config;
  EXPECT_EQ(resume_command({"titan", "train"}, config, 7),
            "TITAN_PLUGIN_PATH='/my plugins' titan train");
  unsetenv("TITAN_PLUGIN_PATH");
  config.checkpoint.load_step = 3;
  config.checkpoint.exclude_from_loading = {"optimizer"};
  EXPECT_EQ(resume_command({"titan", "train"}, config, 7),
            "titan train --checkpoint.load_step=7 '--checkpoint.exclude_from_loading=[]'");
}

}  // namespace
}  // namespace titan::commands
