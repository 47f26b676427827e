#include "observe/tensorboard_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <ctime>
#include <optional>
#include <string_view>

#include "observe/append_file.h"
#include "observe/event_record.h"

namespace titan::observe {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEventFile = "events.out.tfevents.";

/// The time in the name of an event file, in seconds since 1970; nothing for other files.
std::optional<int64_t> time_of_event_file(const std::string& name) {
  if (!name.starts_with(kEventFile)) return std::nullopt;
  int64_t seconds = 0;
  const char* begin = name.data() + kEventFile.size();
  const auto [end, error] = std::from_chars(begin, name.data() + name.size(), seconds);
  return error == std::errc() && end != begin ? std::optional(seconds) : std::nullopt;
}

struct RunFolder {
  fs::path path;
  int64_t latest = 0;  ///< time of its newest event file; 0: it has none
};

/// Of the folders under `root` the one that was written last; nothing if no one was.
std::optional<RunFolder> latest_run(const fs::path& root) {
  std::optional<RunFolder> found;
  std::error_code error;
  for (fs::directory_iterator run(root, error), end; !error && run != end; run.increment(error)) {
    std::error_code ignored;
    for (fs::directory_iterator file(run->path(), ignored); !ignored && file != end;
         file.increment(ignored)) {
      const auto seconds = time_of_event_file(file->path().filename().string());
      if (seconds && (!found || *seconds > found->latest)) found = {run->path(), *seconds};
    }
  }
  return found;
}

/// A folder that is not there yet, named by the local time as torchtitan does.
fs::path new_run(const fs::path& root, int64_t now) {
  const auto time = static_cast<std::time_t>(now);
  std::tm local{};
  localtime_r(&time, &local);
  std::array<char, 32> name{};
  std::strftime(name.data(), name.size(), "%Y%m%d-%H%M", &local);
  for (int64_t number = 1;; ++number) {
    std::string run = name.data();
    if (number > 1) run.append("-").append(std::to_string(number));
    fs::path folder = root / run;
    std::error_code error;
    if (fs::create_directory(folder, error)) return folder;
    if (error) throw cannot_write(folder, error.value());
  }
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  std::string text = name.data();
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

void add_memory(SummaryEvent& event, const std::string& prefix, const std::string& name,
                uint64_t bytes, uint64_t total_bytes) {
  const auto value = static_cast<double>(bytes);
  event.add_scalar(prefix + name + "(GiB)", value / (1 << 30));
  if (total_bytes > 0)
    event.add_scalar(prefix + name + "(%)", 100 * value / static_cast<double>(total_bytes));
}

/// `text` as Markdown that shows it letter for letter.
std::string code_block(const std::string& text) {
  std::string block = "    ";
  for (const char c : text) {
    block += c;
    if (c == '\n') block += "    ";
  }
  return block + "\n";
}

void write_event(int descriptor, const fs::path& path, const SummaryEvent& event) {
  append(descriptor, path, framed(event.bytes()));
}

}  // namespace

TensorBoardWriter::TensorBoardWriter(const fs::path& root, int64_t steps_done) {
  make_folder(root);
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  auto seconds = static_cast<int64_t>(now);
  const std::optional<RunFolder> before = steps_done > 0 ? latest_run(root) : std::nullopt;
  const fs::path folder = before ? before->path : new_run(root, seconds);
  // The order of the names is the order of the files, also if the clock was set back.
  if (before) seconds = std::max(seconds, before->latest + 1);
  path_ = folder / (std::string(kEventFile) + std::to_string(seconds) + "." + host_name() + "." +
                    std::to_string(getpid()));
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor_ < 0) throw cannot_write(path_, errno);
  append(descriptor_, path_,
         framed(version_event(now)) + framed(session_start_event(now, steps_done + 1)));
}

TensorBoardWriter::~TensorBoardWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void TensorBoardWriter::write(const StepMetrics& metrics) {
  SummaryEvent event(metrics.unix_time, metrics.step);
  event.add_scalar("loss_metrics/global_avg_loss", metrics.loss);
  event.add_scalar("loss_metrics/global_max_loss", metrics.max_loss.value_or(metrics.loss));
  event.add_scalar("grad_norm", metrics.grad_norm);
  event.add_scalar("throughput(tps)", metrics.tps);
  event.add_scalar("tflops", metrics.tflops);
  if (metrics.mfu) event.add_scalar("mfu(%)", *metrics.mfu);
  event.add_scalar("time_metrics/end_to_end(s)", metrics.step_seconds);
  event.add_scalar("time_metrics/data_loading(s)", metrics.data_seconds);
  if (metrics.step_seconds > 0)
    event.add_scalar("time_metrics/data_loading(%)",
                     100 * metrics.data_seconds / metrics.step_seconds);
  add_memory(event, "memory/", "max_reserved", metrics.memory_peak_bytes,
             metrics.memory_total_bytes);
  if (metrics.memory_active_bytes > 0) {
    add_memory(event, "memory/", "max_active", metrics.memory_active_bytes,
               metrics.memory_total_bytes);
    event.add_scalar("memory/num_alloc_retries", static_cast<double>(metrics.num_alloc_retries));
    event.add_scalar("memory/num_ooms", static_cast<double>(metrics.num_ooms));
  }
  event.add_scalar("n_tokens_seen", static_cast<double>(metrics.n_tokens_seen));
  event.add_scalar("lr", metrics.lr);
  if (metrics.skipped_steps > 0)
    event.add_scalar("skipped_steps", static_cast<double>(metrics.skipped_steps));
  for (const auto& [name, value] : metrics.converter_metrics) event.add_scalar(name, value);
  write_event(descriptor_, path_, event);
}

void TensorBoardWriter::write(const ValidationMetrics& metrics) {
  SummaryEvent event(metrics.unix_time, metrics.step);
  event.add_scalar("validation_metrics/loss", metrics.loss);
  event.add_scalar("validation_metrics/throughput(tps)", metrics.tps);
  add_memory(event, "validation_metrics/memory/", "max_reserved", metrics.memory_peak_bytes,
             metrics.memory_total_bytes);
  if (metrics.memory_active_bytes > 0)
    add_memory(event, "validation_metrics/memory/", "max_active", metrics.memory_active_bytes,
               metrics.memory_total_bytes);
  write_event(descriptor_, path_, event);
}

void TensorBoardWriter::write(const TextSample& sample) {
  SummaryEvent event(sample.unix_time, sample.step);
  std::string text =
      sample.prompt.empty() ? "" : "prompt:\n\n" + code_block(sample.prompt) + "\ntext:\n\n";
  text += code_block(sample.text);
  event.add_text("sample/" + sample.name, text);
  write_event(descriptor_, path_, event);
}

}  // namespace titan::observe
