/// Runs a function in a process of its own: a crash, a hang or exit() in it costs nothing here.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace titan {

struct ChildOutcome {
  enum class End {
    kAnswered,  ///< the function returned
    kExited,    ///< the process ended by itself before the function returned
    kSignal,    ///< a signal ended it
    kTimeout,   ///< it was killed because its time was over
    kNotStarted,
  };
  End end = End::kNotStarted;
  int number = 0;      ///< exit status, signal, or errno of what could not be started
  std::string answer;  ///< what the function returned
  std::string output;  ///< the last 16 KiB that it wrote to stdout and stderr, as it was written
  std::chrono::milliseconds limit{0};
  bool left_processes = false;  ///< it ended, but what it started had not; that was killed

  bool answered() const { return end == End::kAnswered; }
  /// "was killed by signal 11 (Segmentation fault)", "ended the process with status 0",
  /// "did not finish in 10 s", "returned".
  std::string how() const;
};

/// What the child does once the function has returned and its answer is on the way.
enum class AfterAnswer {
  kLeave,  ///< end at once
  kExit,   ///< exit(0): static destructors run. One that crashes or hangs shows as kSignal or
           ///< kTimeout.
};

/// Forks, calls `function` in the child and waits for its answer, at most `limit`; then the child
/// and all that it started in its process group are killed. That the child's status is 0 proves
/// nothing (a static constructor may call exit(0)): only an answer with a random token counts.
///
/// To be called while this process has one thread only: fork copies no other, and what they had
/// locked would stay locked. An exception that leaves `function` ends the child like
/// std::terminate.
ChildOutcome call_in_child(const std::function<std::string()>& function,
                           std::chrono::milliseconds limit,
                           AfterAnswer after = AfterAnswer::kLeave);

}  // namespace titan
