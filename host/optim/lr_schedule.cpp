#include "optim/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/suggest.h"

namespace titan::optim {
namespace {

void check_schedule(bool holds, const std::string& key, const std::string& found,
                    const std::string& rule) {
  if (!holds)
    throw usage_error("lr_scheduler." + key + " is " + found, "lr_scheduler." + key,
                      "it must be " + rule);
}

/// To the nearest integer, halves to the even one.
int64_t round_half_even(double value) {
  const double floor = std::floor(value);
  const double rest = value - floor;
  const auto low = static_cast<int64_t>(floor);
  if (rest != 0.5) return rest < 0.5 ? low : low + 1;
  return low % 2 == 0 ? low : low + 1;
}

}  // namespace

DecayShape parse_decay_shape(const std::string& name) {
  if (name == "linear") return DecayShape::kLinear;
  if (name == "sqrt") return DecayShape::kSqrt;
  if (name == "cosine") return DecayShape::kCosine;
  throw usage_error(
      "no decay is named '" + name + "'", "lr_scheduler.decay_type",
      did_you_mean(name, {"linear", "sqrt", "cosine"}) + "decays: linear, sqrt, cosine");
}

LrSchedule::LrSchedule(const LrScheduleOptions& options) : options_(options) {
  const int64_t total = options.total_steps;
  check_schedule(total >= 1, "total_steps", std::to_string(total), "at least 1");
  check_schedule(options.warmup_steps >= 0, "warmup_steps", std::to_string(options.warmup_steps),
                 "at least 0");
  const double ratio = options.decay_ratio.value_or(0.0);
  check_schedule(ratio >= 0.0 && ratio <= 1.0, "decay_ratio", std::to_string(ratio), "in [0, 1]");
  const double min_factor = options.min_lr_factor;
  check_schedule(min_factor >= 0.0 && min_factor <= 1.0, "min_lr_factor",
                 std::to_string(min_factor), "in [0, 1]");

  warmup_ = std::min(options.warmup_steps, total);
  if (warmup_ < options.warmup_steps)
    warnings_.push_back("lr_scheduler.warmup_steps (" + std::to_string(options.warmup_steps) +
                        ") is more than all " + std::to_string(total) +
                        " steps; the whole run warms up");
  decay_ = total - warmup_;
  if (options.decay_ratio) {
    const int64_t wanted = round_half_even(static_cast<double>(total) * ratio);
    if (wanted > decay_)
      warnings_.push_back("warm-up (" + std::to_string(warmup_) + ") and decay (" +
                          std::to_string(wanted) + ") are more than all " + std::to_string(total) +
                          " steps; the decay is shortened to " + std::to_string(decay_));
    decay_ = std::min(wanted, decay_);
  }
}

double LrSchedule::factor(int64_t step) const {
  if (step < warmup_) return static_cast<double>(step + 1) / static_cast<double>(warmup_);
  // One step that is never taken ends the decay, so that the last one still learns.
  const int64_t held = options_.total_steps + 1 - warmup_ - decay_;
  if (decay_ == 0 || step < warmup_ + held) return 1.0;
  const double progress =
      std::min(1.0, static_cast<double>(step + 1 - warmup_ - held) / static_cast<double>(decay_));
  double left = 1.0 - progress;
  if (options_.decay_shape == DecayShape::kSqrt) left = 1.0 - std::sqrt(progress);
  if (options_.decay_shape == DecayShape::kCosine)
    left = 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
  return options_.min_lr_factor + (1.0 - options_.min_lr_factor) * left;
}

}  // namespace titan::optim
