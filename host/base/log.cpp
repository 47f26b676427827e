#include "base/log.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <ctime>
#include <memory>
#include <mutex>
#include <utility>

#include "base/terminal.h"

namespace titan {
namespace {

/// Process-wide, as standard error is: set once by main(), read by every log line.
std::atomic<LogLevel> shown_level{LogLevel::kInfo};

/// The receiver of the LogCopy that lives, under its lock. Never destroyed: threads may log at
/// exit.
struct CopyReceiver {
  std::mutex lock;
  LogLevel least = LogLevel::kError;
  LogCopy::Receive receive;
};

CopyReceiver& copy_receiver() {
  static auto& receiver = *std::make_unique<CopyReceiver>().release();
  return receiver;
}

struct LevelStyle {
  const char* name;
  const char* color;  ///< empty: plain
};

constexpr std::array<LevelStyle, 4> kLevelStyles = {{
    {"DEBUG", "\x1b[2m"},
    {"INFO", ""},
    {"WARNING", "\x1b[33m"},
    {"ERROR", "\x1b[31m"},
}};

std::string log_timestamp(std::chrono::system_clock::time_point time) {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(time));
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(
      time - std::chrono::floor<std::chrono::seconds>(time));
  std::tm local{};
  localtime_r(&seconds, &local);
  std::array<char, 32> date{};
  std::strftime(date.data(), date.size(), "%Y-%m-%d %H:%M:%S", &local);
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%s,%03d", date.data(), static_cast<int>(millis.count()));
  return text.data();
}

/// The length of a colour code (ESC [ digits and ';' m) at `text[i]`, else 0.
size_t color_code_length(std::string_view text, size_t i) {
  if (text[i] != '\x1b' || i + 1 >= text.size() || text[i + 1] != '[') return 0;
  size_t end = i + 2;
  while (end < text.size() && (text[end] == ';' || (text[end] >= '0' && text[end] <= '9'))) ++end;
  return end < text.size() && text[end] == 'm' ? end + 1 - i : 0;
}

}  // namespace

void set_log_level(LogLevel level) { shown_level.store(level); }

LogLevel log_level() { return shown_level.load(); }

std::string format_log(LogLevel level, std::string_view text,
                       std::chrono::system_clock::time_point time, bool color) {
  const LevelStyle& style = kLevelStyles[static_cast<size_t>(level)];
  const bool styled = color && *style.color != '\0';
  const std::string header = (styled ? style.color : "") + ("[titan] " + log_timestamp(time)) +
                             " - root - " + style.name + " - ";
  const std::string footer = styled ? "\x1b[0m\n" : "\n";
  std::string line = header;
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (const size_t code = color_code_length(text, i); code > 0) {
      if (color) line += text.substr(i, code);
      i += code - 1;
    } else if (c == '\n') {
      line += footer + header;
    } else {
      line += (c < 0x20 && c != '\t') || c == 0x7f ? '?' : text[i];
    }
  }
  return line + footer;
}

LogCopy::LogCopy(LogLevel least, Receive receive) {
  CopyReceiver& receiver = copy_receiver();
  const std::lock_guard guard(receiver.lock);
  receiver.least = least;
  receiver.receive = std::move(receive);
}

LogCopy::~LogCopy() {
  CopyReceiver& receiver = copy_receiver();
  const std::lock_guard guard(receiver.lock);
  receiver.receive = nullptr;
}

void log(LogLevel level, std::string_view text) {
  {
    CopyReceiver& receiver = copy_receiver();
    const std::lock_guard guard(receiver.lock);
    if (receiver.receive && level >= receiver.least) receiver.receive(level, text);
  }
  if (level < log_level()) return;
  write_all(STDERR_FILENO,
            format_log(level, text, std::chrono::system_clock::now(), use_color(STDERR_FILENO)));
}

}  // namespace titan
