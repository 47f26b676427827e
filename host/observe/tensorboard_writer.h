/// Event files that TensorBoard reads, under torchtitan's tags.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "observe/metrics_sink.h"

namespace titan::observe {

/// Writes `<root>/<YYYYmmdd-HHMM>/events.out.tfevents.<seconds>.<host>.<process>`, a folder for
/// each run (torchtitan's layout). A run that is resumed goes on in the folder of the latest, with
/// a file of its own: TensorBoard reads the files in the order of their names and, told by the
/// first event which step comes next, drops what an earlier process wrote of that step and later
/// ones.
///
/// Tags: loss_metrics/global_avg_loss, loss_metrics/global_max_loss, grad_norm, throughput(tps),
/// tflops, mfu(%), time_metrics/end_to_end(s), time_metrics/data_loading(s) and (%), n_tokens_seen,
/// lr, memory/max_reserved(GiB) and (%) (on the CPU: the peak of resident memory), and where there
/// are any memory/max_active(GiB) and (%), memory/num_alloc_retries, memory/num_ooms,
/// skipped_steps; validation_metrics/loss, validation_metrics/throughput(tps) and
/// validation_metrics/memory/...;
/// `<instance>/<fqn>.<name>` of converters; sample/<name> as text.
///
/// TensorBoard stores scalars as float32.
class TensorBoardWriter : public MetricsSink {
 public:
  /// `steps_done`: the steps that this run goes on from; 0: it begins.
  TensorBoardWriter(const std::filesystem::path& root, int64_t steps_done);
  ~TensorBoardWriter() override;
  TensorBoardWriter(const TensorBoardWriter&) = delete;
  TensorBoardWriter& operator=(const TensorBoardWriter&) = delete;

  void write(const StepMetrics& metrics) override;
  void write(const ValidationMetrics& metrics) override;
  void write(const TextSample& sample) override;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace titan::observe
