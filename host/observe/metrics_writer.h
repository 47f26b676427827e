/// metrics.jsonl: one JSON object a reported step.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "observe/append_file.h"
#include "observe/metrics_sink.h"

namespace titan::observe {

/// {"step": 1, "loss": 8.1375612, "grad_norm": ..., "lr": ..., "tps": ..., "tflops": ...,
/// "step_seconds": ..., "data_seconds": ..., "n_tokens_seen": ..., "memory_peak_bytes": ...,
/// "time": ..., "<instance>/<fqn>.<name>": ...}, and where there are any "mfu",
/// "memory_active_bytes", "num_alloc_retries" and "num_ooms" (devices only) and "skipped_steps".
/// Nine significant digits, but "time" in milliseconds; numbers that JSON cannot hold are the
/// strings "nan", "inf" and "-inf".
std::string to_json_line(const StepMetrics& metrics);

/// {"step": 10, "validation_metrics/loss": ..., "validation_metrics/tps": ...,
/// "validation_metrics/n_tokens": ..., "validation_metrics/memory_peak_bytes": ...,
/// "time": ...}: a line of its own, behind that of the step if there is one.
std::string to_json_line(const ValidationMetrics& metrics);

/// {"step": 10, "sample": {"name": ..., "prompt": ..., "text": ...}, "time": ...}
std::string to_json_line(const TextSample& sample);

/// Appends to `<folder>/metrics.jsonl`. Every line is written at once, so a killed run leaves whole
/// lines. Throws an environment error naming the path if it cannot be written.
///
/// What an earlier run left stays until keep_until() says how much of it this run goes on from.
class MetricsWriter : public MetricsSink {
 public:
  /// Makes the folder and the file if need be.
  explicit MetricsWriter(const std::filesystem::path& folder);
  ~MetricsWriter() override;
  MetricsWriter(const MetricsWriter&) = delete;
  MetricsWriter& operator=(const MetricsWriter&) = delete;
  /// Keeps the whole lines up to `step`. What else the file held is kept as metrics.previous.jsonl
  /// if this run begins anew (0) or if there are lines that are not titan's; a cut last line is
  /// dropped.
  void keep_until(int64_t step);
  void write(const StepMetrics& metrics) override { append(fd_, path_, to_json_line(metrics)); }
  void write(const ValidationMetrics& metrics) override {
    append(fd_, path_, to_json_line(metrics));
  }
  void write(const TextSample& sample) override { append(fd_, path_, to_json_line(sample)); }
  const std::filesystem::path& path() const { return path_; }

 private:
  void open();

  std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace titan::observe
