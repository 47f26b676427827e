/// SIGINT, SIGTERM and SIGHUP: the step in progress is finished, a second one ends the process at
/// once.
#pragma once

#include <signal.h>

namespace titan::train {

/// While one exists the first signal is remembered and the second ends the process with status
/// 128 + its number. A signal that the process ignored stays ignored. One at a time; the destructor
/// brings back what was there before.
///
/// A handler can reach nothing but a global, so signals.cpp has the only one.
class SignalGuard {
 public:
  SignalGuard();
  ~SignalGuard();
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

  /// The signal that arrived; 0: none.
  int received() const;

 private:
  struct sigaction interrupt_before_ = {};
  struct sigaction terminate_before_ = {};
  struct sigaction hang_up_before_ = {};
};

/// A write beyond the limit on file sizes then fails like one to a full disk instead of killing
/// the process.
void ignore_file_size_signal();

}  // namespace titan::train
