#include "base/progress.h"

#include <algorithm>
#include <cmath>

#include "base/terminal.h"

namespace titan {
namespace {

/// A terminal is redrawn at most this often; the eye does not need more.
constexpr std::chrono::milliseconds kRedrawInterval{100};

std::string time_left(double seconds) {
  const int64_t whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return std::to_string(whole) + "s left";
  if (whole < 3600)
    return std::to_string(whole / 60) + "m " + std::to_string(whole % 60) + "s left";
  return std::to_string(whole / 3600) + "h " + std::to_string(whole % 3600 / 60) + "m left";
}

}  // namespace

std::string progress_line(std::string_view label, int64_t done, int64_t total,
                          std::chrono::duration<double> elapsed, std::string_view text,
                          size_t width) {
  std::string line = std::string(label) + "  " + std::to_string(done) + "/" + std::to_string(total);
  if (total > 0) {
    const double fraction =
        std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
    line += "  " + std::to_string(static_cast<int>(fraction * 100)) + "%";
    // Why not before the first step: there is nothing yet to estimate from.
    if (fraction > 0) line += "  " + time_left(elapsed.count() / fraction * (1 - fraction));
  }
  if (!text.empty()) line += "  " + std::string(text);
  return elide_middle(line, width);
}

Progress::Progress(std::string label, int64_t total, int fd,
                   std::chrono::milliseconds plain_interval)
    : label_(std::move(label)),
      total_(total),
      fd_(fd),
      terminal_(is_terminal(fd)),
      plain_interval_(plain_interval),
      start_(Clock::now()),
      last_output_(start_) {}

void Progress::update(int64_t done, std::string_view text) {
  const Clock::time_point now = Clock::now();
  // As if all steps had taken the time of those that this process did.
  std::chrono::duration<double> elapsed = now - start_;
  if (done > done_before_)
    elapsed *= static_cast<double>(done) / static_cast<double>(done - done_before_);
  if (terminal_) {
    if (drawn_ && done < total_ && now - last_output_ < kRedrawInterval) return;
    // One column is left free: a full line would wrap on some terminals.
    const size_t width = std::max<size_t>(2, terminal_width(fd_)) - 1;
    std::string line = "\r";
    line += progress_line(label_, done, total_, elapsed, text, width);
    line += "\x1b[K";
    write_all(fd_, line);
    drawn_ = true;
  } else {
    if (now - last_output_ < plain_interval_) return;
    write_all(fd_, progress_line(label_, done, total_, elapsed, text, 200) + "\n");
  }
  last_output_ = now;
}

void Progress::clear() {
  if (drawn_) write_all(fd_, "\r\x1b[K");
  drawn_ = false;
}

}  // namespace titan
