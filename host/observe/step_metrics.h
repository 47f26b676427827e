/// What is reported of a run while it trains.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace titan::observe {

struct StepMetrics {
  int64_t step = 0;
  double unix_time = 0;            ///< when it was reported, in seconds since 1970
  double loss = 0;                 ///< mean over the valid labels of the global batch
  std::optional<double> max_loss;  ///< the largest mean of one rank; absent: there is one rank
  double grad_norm = 0;            ///< before clipping
  double lr = 0;                   ///< used in this step
  double tps = 0;                  ///< tokens per second since the last report
  double tflops = 0;               ///< model FLOPs per second / 1e12 since the last report
  std::optional<double> mfu;       ///< percent of the device's peak; absent if that is not known
  double step_seconds = 0;         ///< mean time of a step since the last report
  double data_seconds = 0;         ///< the part of it that waited for batches
  int64_t n_tokens_seen = 0;
  uint64_t memory_peak_bytes = 0;    ///< peak resident memory, or the most a device had reserved
  uint64_t memory_total_bytes = 0;   ///< of the machine or device; 0: unknown
  uint64_t memory_active_bytes = 0;  ///< the most that tensors held on a device; 0: on the CPU
  int64_t num_alloc_retries = 0;     ///< allocations that needed the device's cache to be emptied
  int64_t num_ooms = 0;              ///< allocations that failed
  int64_t skipped_steps = 0;         ///< so far, because they were not finite
  std::map<std::string, double> converter_metrics;  ///< `<instance>/<fqn>.<name>`
};

struct ValidationMetrics {
  int64_t step = 0;      ///< optimizer steps done
  double unix_time = 0;  ///< when it was reported, in seconds since 1970
  double loss = 0;       ///< mean over the valid labels of the validation
  double tps = 0;        ///< validation tokens per second
  int64_t n_tokens = 0;  ///< input tokens of the validation
  uint64_t memory_peak_bytes = 0, memory_total_bytes = 0, memory_active_bytes = 0;  ///< as above
};

/// What the model wrote after so many steps.
struct TextSample {
  int64_t step = 0;      ///< optimizer steps done
  double unix_time = 0;  ///< when it was reported, in seconds since 1970
  std::string name;      ///< tells samples of one step apart; the same over all steps
  std::string prompt;    ///< what the model was given; may be empty
  std::string text;      ///< what it wrote behind the prompt; any bytes
};

}  // namespace titan::observe
