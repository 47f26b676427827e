/// The train step of the golden runs: loss, clip, update, schedule.
#pragma once

#include <ATen/Functions.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "model/loss.h"
#include "model/mixed_precision.h"
#include "model/module.h"
#include "optim/adamw.h"
#include "optim/clip.h"
#include "optim/lr_schedule.h"

namespace titan::test {

struct Batch {
  at::Tensor tokens, labels;  ///< int64 [B, S]
};

struct StepNumbers {
  double loss, grad_norm, lr;
};

class TrainingRun {
 public:
  /// `mixed_precision` may be null.
  TrainingRun(model::Module& root, const optim::AdamOptions& adam,
              const optim::LrScheduleOptions& schedule, double max_norm,
              model::MixedPrecision* mixed_precision = nullptr)
      : root_(root),
        mixed_precision_(mixed_precision),
        optimizer_(optim::trainable_tensors(root), adam),
        schedule_(schedule),
        base_lr_(adam.lr),
        max_norm_(max_norm) {}

  /// Cuts the batch into micro-batches of equal size.
  StepNumbers step(const Batch& batch, int64_t micro_batches = 1) {
    optimizer_.zero_grad();
    const double lr = base_lr_ * schedule_.factor(step_);
    optimizer_.set_lr(lr);
    ++step_;
    const int64_t valid = model::count_valid_labels(batch.labels);
    const int64_t size = batch.tokens.size(0) / micro_batches;
    double loss_sum = 0.0;
    for (int64_t i = 0; i < micro_batches; ++i) {
      const model::CallContext context{
          .step = step_, .micro_batch = i, .training = true, .mixed_precision = mixed_precision_};
      const at::Tensor loss =
          model::cross_entropy(root_(context, {batch.tokens.narrow(0, i * size, size)}),
                               batch.labels.narrow(0, i * size, size), valid);
      loss.backward();
      loss_sum += loss.item<double>();
    }
    const double norm = optim::clip_grad_norm(optimizer_.gradients(), max_norm_);
    optimizer_.step(step_);
    return {loss_sum, norm, lr};
  }

 private:
  model::Module& root_;
  model::MixedPrecision* mixed_precision_;
  optim::Optimizer optimizer_;
  optim::LrSchedule schedule_;
  double base_lr_, max_norm_;
  int64_t step_ = 0;
};

}  // namespace titan::test
