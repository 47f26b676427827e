/// What is reported of a training step.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace titan::observe {

struct StepMetrics {
  int64_t step = 0;
  double loss = 0;       ///< mean over the valid labels of the global batch
  double grad_norm = 0;  ///< before clipping
  double lr = 0;         ///< used in this step
  double tps = 0;        ///< tokens per second since the last report
  double tflops = 0;     ///< model FLOPs per second / 1e12 since the last report
  int64_t n_tokens_seen = 0;
  uint64_t memory_peak_bytes = 0;   ///< peak resident memory, or peak allocated on the device
  uint64_t memory_total_bytes = 0;  ///< of the machine or device; 0: unknown
  int64_t skipped_steps = 0;        ///< so far, because they were not finite
  std::map<std::string, double> converter_metrics;  ///< `<instance>/<fqn>.<name>`
};

}  // namespace titan::observe
