#include "observe/metrics_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string_view>

#include "base/error.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/os_error.h"

namespace titan::observe {
namespace {

std::string number(double value) {
  if (std::isfinite(value)) return float9(value);
  return std::isnan(value) ? "\"nan\"" : value > 0 ? "\"inf\"" : "\"-inf\"";
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

Error cannot_write(const std::filesystem::path& path, int code) {
  // A pipe answers ENXIO when nobody reads it.
  const std::string reason = code == ENXIO ? "it is a pipe or a device" : std::strerror(code);
  return environment_error("cannot write " + path.string() + ": " + reason, path.string(),
                           cure_of_os_error(code, "choose another folder with job.dump_folder"));
}

/// Size of the lines up to `step`. They are read as to_json_line writes them.
int64_t bytes_until(const std::filesystem::path& path, int64_t step) {
  constexpr std::string_view kBegin = "{\"step\": ";
  std::ifstream file(path, std::ios::binary);
  int64_t bytes = 0;
  for (std::string line; std::getline(file, line) && !file.eof();) {
    int64_t number = 0;
    const char* from = line.data() + std::min(line.size(), kBegin.size());
    const auto [end, error] = std::from_chars(from, line.data() + line.size(), number);
    const bool whole = line.starts_with(kBegin) && error == std::errc() && line.ends_with("}");
    if (!whole || number > step) break;
    bytes += static_cast<int64_t>(line.size()) + 1;
  }
  return bytes;
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
  line += ", \"n_tokens_seen\": " + std::to_string(metrics.n_tokens_seen);
  line += ", \"memory_peak_bytes\": " + std::to_string(metrics.memory_peak_bytes);
  if (metrics.memory_active_bytes > 0) {
    line += ", \"memory_active_bytes\": " + std::to_string(metrics.memory_active_bytes);
    line += ", \"num_alloc_retries\": " + std::to_string(metrics.num_alloc_retries);
    line += ", \"num_ooms\": " + std::to_string(metrics.num_ooms);
  }
  if (metrics.skipped_steps > 0)
    line += ", \"skipped_steps\": " + std::to_string(metrics.skipped_steps);
  for (const auto& [name, value] : metrics.converter_metrics)
    line += ", " + quoted(name) + ": " + number(value);
  return line + "}\n";
}

std::string to_json_line(const ValidationMetrics& metrics) {
  const std::string key = ", \"validation_metrics/";
  return "{\"step\": " + std::to_string(metrics.step) + key + "loss\": " + number(metrics.loss) +
         key + "tps\": " + number(metrics.tps) + key +
         "n_tokens\": " + std::to_string(metrics.n_tokens) + key +
         "memory_peak_bytes\": " + std::to_string(metrics.memory_peak_bytes) + "}\n";
}

MetricsWriter::MetricsWriter(const std::filesystem::path& folder)
    : path_(folder / "metrics.jsonl") {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw cannot_write(folder, error.value());
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
  const int64_t bytes = step > 0 ? bytes_until(path_, step) : 0;
  struct stat info {};
  if (step == 0 && fstat(fd_, &info) == 0 && info.st_size > 0)
    log_warning("the metrics of an earlier run in " + path_.string() + " are replaced");
  if (::ftruncate(fd_, bytes) != 0) throw cannot_write(path_, errno);
}

void MetricsWriter::write_line(const std::string& line) {
  struct stat info {};
  if (fstat(fd_, &info) == 0 && info.st_nlink == 0)
    throw environment_error(path_.string() + " was deleted while the run wrote it", path_.string(),
                            "leave job.dump_folder in place until the run is over");
  size_t done = 0;
  while (done < line.size()) {
    const ssize_t written = ::write(fd_, line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw cannot_write(path_, errno);
    done += static_cast<size_t>(written);
  }
}

}  // namespace titan::observe
