/// fork, two pipes, a deadline.
#include "base/child_call.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

namespace titan {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kKeptOutput = 16 * 1024;
constexpr size_t kMostAnswer = size_t{64} << 20;
constexpr auto kTick = std::chrono::milliseconds(20);

using Token = std::array<char, 16>;

Token random_token() {
  Token token{};
  if (getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size())) {
    // Without randomness it still differs from all that a plugin writes by accident.
    const auto now = Clock::now().time_since_epoch().count();
    std::memcpy(token.data(), &now, sizeof now);
  }
  return token;
}

/// Both ends of a pipe; closed on destruction.
struct Pipe {
  int read_end = -1, write_end = -1;
  bool open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read_end = ends[0];
    write_end = ends[1];
    return true;
  }
  static void close_end(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }
  ~Pipe() {
    close_end(read_end);
    close_end(write_end);
  }
};

void write_all(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t wrote = write(fd, data, size);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;
    data += wrote;
    size -= static_cast<size_t>(wrote);
  }
}

[[noreturn]] void be_the_child(const std::function<std::string()>& function, const Token& token,
                               Pipe& answer, Pipe& output, pid_t parent,
                               AfterAnswer after) noexcept {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(output.write_end, STDOUT_FILENO);
  dup2(output.write_end, STDERR_FILENO);
  Pipe::close_end(answer.read_end);
  Pipe::close_end(output.read_end);
  const std::string text = function();
  std::cout.flush();
  std::fflush(nullptr);
  const uint64_t size = text.size();
  std::string frame(token.data(), token.size());
  frame.append(reinterpret_cast<const char*>(&size), sizeof size);
  frame += text;
  write_all(answer.write_end, frame.data(), frame.size());
  if (after == AfterAnswer::kExit) std::exit(0);
  _exit(0);
}

/// Takes what is there without waiting; false at the end of the stream.
bool drain(int fd, std::string& into) {
  std::array<char, 8192> buffer;
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got > 0)
      into.append(buffer.data(), static_cast<size_t>(got));
    else if (got == 0)
      return false;
    else if (errno != EINTR)
      return errno == EAGAIN || errno == EWOULDBLOCK;
  }
}

void keep_the_end(std::string& text) {
  if (text.size() > kKeptOutput) text.erase(0, text.size() - kKeptOutput);
}

/// Whether `frame` is a whole answer; then only its text is left in it.
bool take_answer(const Token& token, std::string& frame) {
  uint64_t size = 0;
  constexpr size_t kHead = sizeof(Token) + sizeof size;
  if (frame.size() < kHead || !std::equal(token.begin(), token.end(), frame.begin())) return false;
  std::memcpy(&size, frame.data() + sizeof(Token), sizeof size);
  if (frame.size() - kHead != size) return false;
  frame.erase(0, kHead);
  return true;
}

std::string limit_text(std::chrono::milliseconds limit) {
  if (limit.count() % 1000 == 0) return std::to_string(limit.count() / 1000) + " s";
  return std::to_string(limit.count()) + " ms";
}

}  // namespace

std::string ChildOutcome::how() const {
  switch (end) {
    case End::kAnswered: return "returned";
    case End::kExited: return "ended the process with status " + std::to_string(number);
    case End::kSignal:
      return "was killed by signal " + std::to_string(number) + " (" + strsignal(number) + ")";
    case End::kTimeout: return "did not finish in " + limit_text(limit);
    case End::kNotStarted: return std::string("could not be started: ") + std::strerror(number);
  }
  return {};
}

ChildOutcome call_in_child(const std::function<std::string()>& function,
                           std::chrono::milliseconds limit, AfterAnswer after) {
  ChildOutcome outcome;
  outcome.limit = limit;
  Pipe answer, output;
  const auto not_started = [&] {
    outcome.number = errno;
    return outcome;
  };
  if (!answer.open() || !output.open()) return not_started();
  // What is buffered here must not come out twice.
  std::cout.flush();
  std::fflush(nullptr);
  const Token token = random_token();
  const pid_t parent = getpid();
  // With SIGCHLD ignored (which a parent may have left to us) the kernel would reap the child
  // itself.
  struct sigaction heeded = {}, previous = {};
  heeded.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &heeded, &previous);
  const auto heed_again = [&] { sigaction(SIGCHLD, &previous, nullptr); };
  const pid_t child = fork();
  if (child < 0) {
    not_started();
    heed_again();
    return outcome;
  }
  if (child == 0) be_the_child(function, token, answer, output, parent, after);
  setpgid(child, child);  // both sides do it: whoever comes first
  Pipe::close_end(answer.write_end);
  Pipe::close_end(output.write_end);
  fcntl(answer.read_end, F_SETFL, O_NONBLOCK);
  fcntl(output.read_end, F_SETFL, O_NONBLOCK);

  const auto deadline = Clock::now() + limit;
  std::string frame;
  bool answer_open = true, output_open = true;
  int status = 0;
  bool ended = false;
  while (!ended && Clock::now() < deadline) {
    pollfd waits[2] = {{answer_open ? answer.read_end : -1, POLLIN, 0},
                       {output_open ? output.read_end : -1, POLLIN, 0}};
    // Both closed: it is about to end, or has closed them itself and lives on.
    const auto tick = answer_open || output_open ? kTick : std::chrono::milliseconds(1);
    poll(waits, 2, static_cast<int>(tick.count()));
    if (answer_open) answer_open = drain(answer.read_end, frame) && frame.size() <= kMostAnswer;
    if (output_open) output_open = drain(output.read_end, outcome.output);
    keep_the_end(outcome.output);
    // Its end decides, not that of the pipes: a process that it left behind may hold them open.
    ended = waitpid(child, &status, WNOHANG) == child;
  }
  outcome.left_processes = kill(-child, SIGKILL) == 0 && ended;
  if (!ended) waitpid(child, &status, 0);
  heed_again();
  if (answer_open) drain(answer.read_end, frame);
  if (output_open) drain(output.read_end, outcome.output);
  keep_the_end(outcome.output);

  if (!ended) {
    outcome.end = ChildOutcome::End::kTimeout;
  } else if (WIFSIGNALED(status)) {
    outcome.end = ChildOutcome::End::kSignal;
    outcome.number = WTERMSIG(status);
  } else if (take_answer(token, frame) && WEXITSTATUS(status) == 0) {
    outcome.end = ChildOutcome::End::kAnswered;
    outcome.answer = std::move(frame);
  } else {
    outcome.end = ChildOutcome::End::kExited;
    outcome.number = WEXITSTATUS(status);
  }
  return outcome;
}

}  // namespace titan
