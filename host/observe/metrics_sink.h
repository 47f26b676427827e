/// Where the numbers and texts of a run go: each kind of log is one sink.
#pragma once

#include "observe/step_metrics.h"

namespace titan::observe {

/// Called from the thread that trains. What was written has reached the operating system when a
/// call returns, so a run that is killed loses nothing of it. Failures are environment errors that
/// name the file.
class MetricsSink {
 public:
  virtual ~MetricsSink() = default;
  virtual void write(const StepMetrics& metrics) = 0;
  virtual void write(const ValidationMetrics& metrics) = 0;
  virtual void write(const TextSample& sample) = 0;
};

}  // namespace titan::observe
