/// Levelled log lines on stderr: "[titan] 2026-01-31 12:00:00,123 - root - INFO - text".
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace titan {

enum class LogLevel : int { kDebug, kInfo, kWarning, kError };

/// The least important level that is shown; INFO until it is set. Meant to be called once, from
/// main(), before other threads exist; later calls are safe but affect the whole program.
void set_log_level(LogLevel level);
LogLevel log_level();

/// Writes one line with a single system call, so lines of threads and ranks never mix. A text of
/// several lines gets the header on each of them. Thread-safe.
void log(LogLevel level, std::string_view text);

inline void log_debug(std::string_view text) { log(LogLevel::kDebug, text); }
inline void log_info(std::string_view text) { log(LogLevel::kInfo, text); }
inline void log_warning(std::string_view text) { log(LogLevel::kWarning, text); }
inline void log_error(std::string_view text) { log(LogLevel::kError, text); }

/// While it lives, what is logged at `least` or above also goes to `receive`, shown or not: one
/// call at a time, from the thread that logs. `receive` must neither log nor throw. There is one
/// LogCopy at a time.
class LogCopy {
 public:
  using Receive = std::function<void(LogLevel, std::string_view)>;
  LogCopy(LogLevel least, Receive receive);
  ~LogCopy();
  LogCopy(const LogCopy&) = delete;
  LogCopy& operator=(const LogCopy&) = delete;
};

/// The text log() writes, in local time. Control characters other than tab and newline, which could
/// act on a terminal, are shown as '?' unless they belong to a colour code the caller put in.
std::string format_log(LogLevel level, std::string_view text,
                       std::chrono::system_clock::time_point time, bool color);

}  // namespace titan
