/// The progress line on a pseudo-terminal and in a pipe.
#include "base/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "base/terminal.h"

namespace titan {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// What was written to the other end so far, without waiting.
std::string read_available(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  std::string all;
  char buffer[4096];
  for (ssize_t n = read(fd, buffer, sizeof buffer); n > 0; n = read(fd, buffer, sizeof buffer))
    all.append(buffer, static_cast<size_t>(n));
  return all;
}

TEST(Progress, LineShowsCountPercentAndTimeLeft) {
  EXPECT_EQ(progress_line("train", 40, 100, seconds(8), "loss 2.31", 80),
            "train  40/100  40%  12s left  loss 2.31");
  EXPECT_EQ(progress_line("train", 0, 100, seconds(8), "", 80), "train  0/100  0%");
  EXPECT_EQ(progress_line("train", 100, 100, seconds(8), "", 80), "train  100/100  100%  0s left");
  EXPECT_EQ(progress_line("t", 1, 101, seconds(1), "", 80), "t  1/101  0%  1m 40s left");
  EXPECT_EQ(progress_line("t", 1, 2, seconds(7260), "", 80), "t  1/2  50%  2h 1m left");
  EXPECT_EQ(progress_line("t", 5, 0, seconds(1), "", 80), "t  5/0");
}

TEST(Progress, LineIsElidedInTheMiddleToTheWidth) {
  const std::string line = progress_line("train", 40, 100, seconds(8), "loss 2.31", 20);
  EXPECT_EQ(line, "train  40...oss 2.31");
  EXPECT_EQ(line.size(), 20u);
}

TEST(Progress, ElidingNeverCutsACodePoint) {
  const std::string umlauts = "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc";
  EXPECT_EQ(elide_middle(umlauts, 6), umlauts);
  EXPECT_EQ(elide_middle(umlauts, 5), "\xc3\xa4...\xc3\xbc");
  EXPECT_EQ(elide_middle("abcdef", 2), "ab");
  EXPECT_EQ(elide_middle("abcdef", 0), "");
}

TEST(Progress, OnATerminalStaysOnOneLineAndIsGoneAtTheEnd) {
  int master = -1, slave = -1;
  winsize size{24, 30, 0, 0};
  ASSERT_EQ(openpty(&master, &slave, nullptr, nullptr, &size), 0);
  {
    Progress progress("train", 3, slave);
    progress.update(1, "a text that is far too long for this narrow terminal");
    progress.update(3, "short");
  }
  const std::string out = read_available(master);
  EXPECT_EQ(out.find('\n'), std::string::npos);
  EXPECT_EQ(out.substr(out.size() - 4), "\r\x1b[K");
  EXPECT_NE(out.find("short"), std::string::npos);
  const size_t first_end = out.find("\x1b[K");
  ASSERT_NE(first_end, std::string::npos);
  EXPECT_EQ(out[0], '\r');
  EXPECT_EQ(first_end - 1, 29u) << "one column stays free";
  close(master);
  close(slave);
}

TEST(Progress, InAPipePrintsPlainLinesNowAndThen) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    Progress often("train", 2, ends[1], milliseconds(0));
    often.update(1, "x");
    often.update(2, "x");
    Progress seldom("eval", 2, ends[1], seconds(3600));
    seldom.update(1);
    seldom.update(2);
  }
  const std::string out = read_available(ends[0]);
  EXPECT_EQ(out.find('\r'), std::string::npos);
  EXPECT_EQ(out.find('\x1b'), std::string::npos);
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 2);
  EXPECT_EQ(out.find("eval"), std::string::npos);
  close(ends[0]);
  close(ends[1]);
}

TEST(Progress, AfterAResumeTheEstimateCountsTheStepsOfThisProcess) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Progress progress("train", 100, ends[1], milliseconds(0));
  progress.start_from(90);
  std::this_thread::sleep_for(milliseconds(250));
  progress.update(91);
  const std::string out = read_available(ends[0]);
  EXPECT_NE(out.find("91/100"), std::string::npos) << out;
  EXPECT_EQ(out.find(" 0s left"), std::string::npos) << "nine more steps of 0.25 s: " << out;
  EXPECT_NE(out.find("s left"), std::string::npos) << out;
  close(ends[0]);
  close(ends[1]);
}

TEST(Terminal, NoColorWinsOverATerminal) {
  int master = -1, slave = -1;
  ASSERT_EQ(openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  setenv("TERM", "xterm", 1);
  unsetenv("NO_COLOR");
  EXPECT_TRUE(use_color(slave));
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(use_color(slave));
  setenv("TERM", "xterm", 1);
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(use_color(slave));
  unsetenv("NO_COLOR");
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_FALSE(use_color(ends[1]));
  for (const int fd : {master, slave, ends[0], ends[1]}) close(fd);
}

}  // namespace
}  // namespace titan
