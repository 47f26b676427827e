/// The learning rate over the steps: warm up, hold, decay.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace titan::optim {

enum class DecayShape { kLinear, kSqrt, kCosine };

/// "linear", "sqrt" or "cosine"; a usage error with the nearest name otherwise.
DecayShape parse_decay_shape(const std::string& name);

struct LrScheduleOptions {
  int64_t total_steps = 1;
  int64_t warmup_steps = 200;
  /// Part of total_steps that decays, at the end; without it all that follows the warm-up.
  std::optional<double> decay_ratio = std::nullopt;
  DecayShape decay_shape = DecayShape::kLinear;
  double min_lr_factor = 0.0;
};

class LrSchedule {
 public:
  /// Throws a usage error for options out of range. Warm-up and decay that do not fit are
  /// shortened, which warnings() tells.
  explicit LrSchedule(const LrScheduleOptions& options);

  /// What to multiply the base rate by in 0-based step `step`: (step + 1) / warmup in the warm-up,
  /// 1 in the middle, then from 1 towards min_lr_factor, which a step past the end would have (the
  /// last step itself is still above it). Steps beyond the end keep it.
  double factor(int64_t step) const;

  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  LrScheduleOptions options_;
  int64_t warmup_ = 0;
  int64_t decay_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace titan::optim
