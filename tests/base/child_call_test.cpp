/// A function in a child: what it returns, and every way in which it can fail to.
#include "base/child_call.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace titan {
namespace {

using namespace std::chrono_literals;
using End = ChildOutcome::End;

TEST(ChildCall, AnswersWithWhatTheFunctionReturnsAndWhatItWrote) {
  std::string big(3 << 20, 'x');
  big[5] = '\0';
  const auto outcome = call_in_child(
      [&] {
        std::printf("to stdout\n");
        const std::string text = "to stderr\n";
        EXPECT_EQ(write(2, text.data(), text.size()), static_cast<ssize_t>(text.size()));
        return big;
      },
      20s);
  EXPECT_TRUE(outcome.answered()) << outcome.how();
  EXPECT_FALSE(outcome.left_processes);
  EXPECT_EQ(outcome.answer, big);
  EXPECT_NE(outcome.output.find("to stdout"), std::string::npos);
  EXPECT_NE(outcome.output.find("to stderr"), std::string::npos);
}

TEST(ChildCall, StatusZeroWithoutAnAnswerIsNoSuccess) {
  for (const bool with_handlers : {true, false}) {
    const auto outcome = call_in_child(
        [&]() -> std::string {
          if (with_handlers) std::exit(0);
          _exit(0);
        },
        20s);
    EXPECT_EQ(outcome.end, End::kExited);
    EXPECT_EQ(outcome.how(), "ended the process with status 0");
  }
}

TEST(ChildCall, NamesTheSignal) {
  // Not SIGSEGV, which a sanitizer would turn into an exit.
  const auto outcome = call_in_child(
      []() -> std::string {
        raise(SIGTERM);
        return "no";
      },
      20s);
  EXPECT_EQ(outcome.end, End::kSignal);
  EXPECT_EQ(outcome.number, SIGTERM);
  EXPECT_EQ(outcome.how(), "was killed by signal 15 (Terminated)");
  const auto thrown = call_in_child([]() -> std::string { throw std::runtime_error("x"); }, 20s);
  EXPECT_EQ(thrown.number, SIGABRT);
}

TEST(ChildCall, WorksWhereAParentHasIgnoredSigchld) {
  struct sigaction ignored = {}, before = {};
  ignored.sa_handler = SIG_IGN;
  sigaction(SIGCHLD, &ignored, &before);
  const auto outcome = call_in_child([] { return std::string("here"); }, 20s);
  struct sigaction after = {};
  sigaction(SIGCHLD, &before, &after);
  EXPECT_TRUE(outcome.answered()) << outcome.how();
  EXPECT_EQ(after.sa_handler, SIG_IGN);
}

TEST(ChildCall, KillsWhatDoesNotFinish) {
  const auto start = std::chrono::steady_clock::now();
  const auto outcome = call_in_child(
      []() -> std::string {
        for (;;) pause();
      },
      200ms);
  EXPECT_EQ(outcome.end, End::kTimeout);
  EXPECT_EQ(outcome.how(), "did not finish in 200 ms");
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
  // Closing every descriptor does not hide it.
  const auto closed = call_in_child(
      []() -> std::string {
        for (int fd = 0; fd < 64; ++fd) close(fd);
        for (;;) pause();
      },
      200ms);
  EXPECT_EQ(closed.end, End::kTimeout);
}

TEST(ChildCall, AProcessLeftBehindNeitherDelaysNorSurvives) {
  const auto start = std::chrono::steady_clock::now();
  const auto outcome = call_in_child(
      [] {
        const pid_t left = fork();
        if (left == 0)
          for (;;) pause();
        return std::to_string(left);
      },
      20s);
  ASSERT_TRUE(outcome.answered());
  EXPECT_TRUE(outcome.left_processes);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
  const pid_t left = std::stoi(outcome.answer);
  for (int tries = 0; tries < 20 && kill(left, 0) == 0; ++tries) usleep(10000);
  // Gone, or a zombie that this machine's init has not collected yet.
  if (kill(left, 0) == 0) {
    std::FILE* stat = std::fopen(("/proc/" + outcome.answer + "/stat").c_str(), "r");
    char state = 'Z';
    if (stat) {
      EXPECT_EQ(std::fscanf(stat, "%*d %*s %c", &state), 1);
      std::fclose(stat);
    }
    EXPECT_EQ(state, 'Z');
  }
}

TEST(ChildCall, ExitHandlersRunWhenAskedFor) {
  const auto crash_at_exit = [] {
    std::atexit([] { raise(SIGTERM); });
    return std::string("fine so far");
  };
  EXPECT_TRUE(call_in_child(crash_at_exit, 20s).answered());
  EXPECT_EQ(call_in_child(crash_at_exit, 20s, AfterAnswer::kExit).end, End::kSignal);
}

}  // namespace
}  // namespace titan
