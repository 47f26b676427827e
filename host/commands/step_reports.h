/// What a user sees of a run while it trains.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "config/config.h"
#include "observe/metrics_sink.h"
#include "train/trainer.h"

namespace titan::commands {

/// A line of the log, and what the sinks make of the numbers, in step 1, every metrics.log_freq
/// steps and at the end; a progress line on terminals.
class StepReports {
 public:
  /// What it is given must outlive it.
  /// `peak`: FLOPs per second that are 100 % of mfu; absent: not known.
  StepReports(const train::Trainer& trainer, const config::Config& config,
              std::optional<double> peak, std::vector<observe::MetricsSink*> sinks);

  /// Call it after every step.
  void add(const train::StepResult& result);
  /// Call it after every validation. Its time does not count in the speed of training.
  void add(const train::ValidationResult& result);
  /// Makes room for other output.
  void clear_line() { progress_.clear(); }
  /// Whether this process did a step.
  bool any() const { return first_step_ != 0; }
  /// "loss 8.04900 in step 1, 3.21261 in step 10", of the steps of this process.
  std::string summary() const;

 private:
  using Clock = std::chrono::steady_clock;
  void write(const train::StepResult& result);

  const train::Trainer& trainer_;
  const config::Config& config_;
  std::vector<observe::MetricsSink*> sinks_;
  Progress progress_;
  bool color_;
  double flops_;  ///< of one token
  std::optional<double> peak_;
  int64_t epoch_;
  Clock::time_point since_ = Clock::now();  ///< of the last line
  int64_t tokens_since_ = 0, steps_since_ = 0;
  double data_seconds_since_ = 0;
  int64_t first_step_ = 0;  ///< of this process; 0: none yet
  double first_loss_ = 0;
  double last_loss_ = 0;
};

}  // namespace titan::commands
