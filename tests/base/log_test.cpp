/// The form of a log line, its colours, and that threads do not mix lines.
#include "base/log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <thread>

namespace titan {
namespace {

/// Sends stderr to a file while it lives.
class StderrToFile {
 public:
  StderrToFile() : saved_(dup(STDERR_FILENO)), file_(std::tmpfile()) {
    std::fflush(stderr);
    dup2(fileno(file_), STDERR_FILENO);
  }
  ~StderrToFile() {
    restore();
    std::fclose(file_);
  }
  std::string text() {
    restore();
    std::string all;
    std::rewind(file_);
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) all += static_cast<char>(c);
    return all;
  }

 private:
  void restore() {
    if (saved_ < 0) return;
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    saved_ = -1;
  }
  int saved_;
  FILE* file_;
};

std::chrono::system_clock::time_point at_millis(int64_t millis) {
  return std::chrono::system_clock::time_point(std::chrono::milliseconds(millis));
}

class LogFormat : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TZ", "UTC", 1);
    tzset();
  }
};

TEST_F(LogFormat, FollowsTorchtitan) {
  // 1769860800 is 2026-01-31 12:00:00 UTC.
  EXPECT_EQ(format_log(LogLevel::kInfo, "text", at_millis(1769860800123), false),
            "[titan] 2026-01-31 12:00:00,123 - root - INFO - text\n");
  EXPECT_EQ(format_log(LogLevel::kWarning, "w", at_millis(1769860800007), false),
            "[titan] 2026-01-31 12:00:00,007 - root - WARNING - w\n");
}

TEST_F(LogFormat, ColoursWarningsOnlyWhereWelcome) {
  const std::string plain = format_log(LogLevel::kError, "e", at_millis(0), false);
  const std::string colored = format_log(LogLevel::kError, "e", at_millis(0), true);
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  EXPECT_EQ(colored, "\x1b[31m" + plain.substr(0, plain.size() - 1) + "\x1b[0m\n");
  EXPECT_EQ(format_log(LogLevel::kInfo, "i", at_millis(0), true),
            format_log(LogLevel::kInfo, "i", at_millis(0), false));
}

TEST_F(LogFormat, DropsColourCodesOfTheTextWithoutColour) {
  const std::string text = "step: \x1b[32m1\x1b[0m loss";
  EXPECT_NE(format_log(LogLevel::kInfo, text, at_millis(0), true).find(text), std::string::npos);
  EXPECT_NE(format_log(LogLevel::kInfo, text, at_millis(0), false).find("step: 1 loss\n"),
            std::string::npos);
}

TEST_F(LogFormat, HidesControlCharacters) {
  const std::string line =
      format_log(LogLevel::kInfo, "a\x1b]0;t\x07\r\x1b[2Jb\tc", at_millis(0), true);
  EXPECT_NE(line.find("a?]0;t???[2Jb\tc"), std::string::npos) << line;
}

TEST_F(LogFormat, GivesEveryLineTheHeader) {
  const std::string header = "[titan] 1970-01-01 00:00:00,000 - root - INFO - ";
  EXPECT_EQ(format_log(LogLevel::kInfo, "a\nb", at_millis(0), false),
            header + "a\n" + header + "b\n");
}

TEST(Log, ShowsOnlyWhatIsImportantEnough) {
  StderrToFile capture;
  log_debug("one");
  log_info("two");
  set_log_level(LogLevel::kError);
  log_warning("three");
  log_error("four");
  set_log_level(LogLevel::kInfo);
  const std::string text = capture.text();
  EXPECT_EQ(text.find("one"), std::string::npos);
  EXPECT_NE(text.find("INFO - two\n"), std::string::npos);
  EXPECT_EQ(text.find("three"), std::string::npos);
  EXPECT_NE(text.find("ERROR - four\n"), std::string::npos);
}

TEST(Log, LinesOfThreadsDoNotMix) {
  StderrToFile capture;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < 200; ++i) log_info(std::string(100, static_cast<char>('a' + t)));
    });
  for (std::thread& thread : threads) thread.join();
  std::istringstream lines(capture.text());
  const std::regex form(R"(\[titan\] \d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} - root - INFO - )"
                        "(a{100}|b{100}|c{100}|d{100})");
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    ASSERT_TRUE(std::regex_match(line, form)) << line;
  EXPECT_EQ(count, 800);
}

}  // namespace
}  // namespace titan
