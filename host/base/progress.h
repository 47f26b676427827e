/// One progress line with an estimate of the time left; plain occasional lines when not a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace titan {

/// "train  40/100  40%  12s left  loss 2.31": the line for `done` of `total` steps, elided in the
/// middle to `width` columns. `elapsed` is the time the `done` steps took.
std::string progress_line(std::string_view label, int64_t done, int64_t total,
                          std::chrono::duration<double> elapsed, std::string_view text,
                          size_t width);

/// Draws on a terminal by returning to the start of the line, and leaves nothing behind. Elsewhere
/// (a pipe, a log file) it prints one plain line every `plain_interval`. Not thread-safe.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  /// `fd` stays the caller's; usually STDERR_FILENO.
  Progress(std::string label, int64_t total, int fd,
           std::chrono::milliseconds plain_interval = std::chrono::seconds(10));
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// For work that goes on: the estimate counts only what is done from here.
  void start_from(int64_t done) { done_before_ = done; }
  /// `done` of total steps are done; `text` is shown behind the estimate.
  void update(int64_t done, std::string_view text = {});
  /// Erases the line, so that other output can follow; the next update draws it again.
  void clear();

 private:
  std::string label_;
  int64_t total_;
  int64_t done_before_ = 0;
  int fd_;
  bool terminal_;
  bool drawn_ = false;
  std::chrono::milliseconds plain_interval_;
  Clock::time_point start_;
  Clock::time_point last_output_;
};

}  // namespace titan
