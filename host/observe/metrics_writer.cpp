#include "observe/metrics_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/printable.h"
#include "observe/append_file.h"

namespace titan::observe {
namespace {

std::string number(double value) {
  if (std::isfinite(value)) return float9(value);
  return std::isnan(value) ? "\"nan\"" : value > 0 ? "\"inf\"" : "\"-inf\"";
}

/// A JSON string; bytes that are no UTF-8 become U+FFFD.
std::string json_text(std::string_view given) {
  std::string out = "\"";
  for (const char c : with_valid_utf8(given)) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

/// Seconds with milliseconds: more digits than nine, which would be tens of seconds.
std::string unix_time(double seconds) { return fixed_point(seconds, 3); }

/// The number behind "step" if the line is a whole object that begins with it; else nothing.
std::optional<int64_t> step_of(std::string_view line) {
  constexpr std::string_view kKey = "{\"step\":";
  if (!line.starts_with(kKey) || !line.ends_with('}')) return std::nullopt;
  line.remove_prefix(kKey.size());
  while (line.starts_with(' ')) line.remove_prefix(1);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

struct KeptLines {
  std::string text;      ///< lines up to the step, each with its newline
  bool all_ours = true;  ///< byte for byte what the file begins with
};

KeptLines lines_until(const std::filesystem::path& path, int64_t step) {
  KeptLines kept;
  std::ifstream file(path, std::ios::binary);
  for (std::string line; std::getline(file, line) && !file.eof();) {
    const size_t size = line.size();
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    const std::optional<int64_t> number = step_of(line);
    if (number && *number > step) break;
    if (number) kept.text += line + "\n";
    kept.all_ours = kept.all_ours && number && line.size() == size;
  }
  return kept;
}

}  // namespace

std::string to_json_line(const StepMetrics& metrics) {
  std::string line = "{\"step\": " + std::to_string(metrics.step);
  line += ", \"loss\": " + number(metrics.loss);
  line += ", \"grad_norm\": " + number(metrics.grad_norm);
  line += ", \"lr\": " + number(metrics.lr);
  line += ", \"tps\": " + number(metrics.tps);
  line += ", \"tflops\": " + number(metrics.tflops);
  if (metrics.mfu) line += ", \"mfu\": " + number(*metrics.mfu);
  line += ", \"step_seconds\": " + number(metrics.step_seconds);
  line += ", \"data_seconds\": " + number(metrics.data_seconds);
  line += ", \"n_tokens_seen\": " + std::to_string(metrics.n_tokens_seen);
  line += ", \"memory_peak_bytes\": " + std::to_string(metrics.memory_peak_bytes);
  if (metrics.memory_active_bytes > 0) {
    line += ", \"memory_active_bytes\": " + std::to_string(metrics.memory_active_bytes);
    line += ", \"num_alloc_retries\": " + std::to_string(metrics.num_alloc_retries);
    line += ", \"num_ooms\": " + std::to_string(metrics.num_ooms);
  }
  if (metrics.skipped_steps > 0)
    line += ", \"skipped_steps\": " + std::to_string(metrics.skipped_steps);
  line += ", \"time\": " + unix_time(metrics.unix_time);
  for (const auto& [name, value] : metrics.converter_metrics)
    line += ", " + json_text(name) + ": " + number(value);
  return line + "}\n";
}

std::string to_json_line(const ValidationMetrics& metrics) {
  const std::string key = ", \"validation_metrics/";
  return "{\"step\": " + std::to_string(metrics.step) + key + "loss\": " + number(metrics.loss) +
         key + "tps\": " + number(metrics.tps) + key +
         "n_tokens\": " + std::to_string(metrics.n_tokens) + key +
         "memory_peak_bytes\": " + std::to_string(metrics.memory_peak_bytes) +
         ", \"time\": " + unix_time(metrics.unix_time) + "}\n";
}

std::string to_json_line(const TextSample& sample) {
  return "{\"step\": " + std::to_string(sample.step) +
         ", \"sample\": {\"name\": " + json_text(sample.name) +
         ", \"prompt\": " + json_text(sample.prompt) + ", \"text\": " + json_text(sample.text) +
         "}, \"time\": " + unix_time(sample.unix_time) + "}\n";
}

MetricsWriter::MetricsWriter(const std::filesystem::path& folder)
    : path_(folder / "metrics.jsonl") {
  make_folder(folder);
  open();
}

void MetricsWriter::open() {
  // O_NONBLOCK: a FIFO in its place must not make the run wait for a reader.
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0644);
  if (fd_ < 0) throw cannot_write(path_, errno);
  struct stat info {};
  if (fstat(fd_, &info) == 0 && !S_ISREG(info.st_mode)) {
    ::close(fd_);
    throw environment_error(path_.string() + " is not a regular file", path_.string(),
                            "remove it, or choose another job.dump_folder");
  }
  // Two runs into one file would make a third that nobody did. Network file systems without locks
  // answer otherwise: there the user has to take care.
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(fd_);
    throw environment_error("another process is writing " + path_.string(), path_.string(),
                            "wait for it or stop it, or choose another job.dump_folder");
  }
}

MetricsWriter::~MetricsWriter() {
  if (fd_ >= 0) ::close(fd_);
}

void MetricsWriter::keep_until(int64_t step) {
  const KeptLines kept = step > 0 ? lines_until(path_, step) : KeptLines();
  struct stat info {};
  const bool something = fstat(fd_, &info) == 0 && info.st_size > 0;
  if (!something || (step > 0 && kept.all_ours)) {
    // Never empty on the way: a crash in between would lose what is kept.
    if (::ftruncate(fd_, static_cast<off_t>(kept.text.size())) != 0)
      throw cannot_write(path_, errno);
    return;
  }
  const std::filesystem::path previous = path_.parent_path() / "metrics.previous.jsonl";
  std::error_code error;
  std::filesystem::rename(path_, previous, error);
  if (error) throw cannot_write(previous, error.value());
  log_warning((step == 0
                   ? "the metrics of an earlier run are kept as "
                   : "the metrics hold lines that titan did not write; all of them are kept as ") +
              previous.string());
  ::close(fd_);
  open();
  if (!kept.text.empty()) append(fd_, path_, kept.text);
}

}  // namespace titan::observe
