/// AdamW and Adam over fused kernels, with hooks that run after each step.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/module.h"

namespace titan::optim {

enum class AdamKind {
  kAdamW,  ///< weight decay shrinks the parameter itself
  kAdam,   ///< weight decay is added to the gradient
};

/// "AdamW" or "Adam"; a usage error with the nearest name otherwise.
AdamKind parse_adam_kind(const std::string& name);

struct AdamOptions {
  AdamKind kind = AdamKind::kAdamW;
  double lr = 8e-4;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;          ///< added after the root
  double weight_decay = 0.1;  ///< on every parameter, norms and embeddings included
};

/// One tensor to update. `tensor` is what is stepped: the parameter itself, or this rank's shard of
/// it; its gradient is tensor.grad().
struct OptimizedTensor {
  std::string fqn;
  at::Tensor tensor;
  std::shared_ptr<model::Parameter> parameter;  ///< its version is raised by every step
};

/// The parameters of `root` that take a gradient, each once, in registration order. They must have
/// been materialized.
std::vector<OptimizedTensor> trainable_tensors(model::Module& root);

/// State of one tensor, in its dtype and on its device; part of checkpoints.
struct AdamState {
  at::Tensor exp_avg;
  at::Tensor exp_avg_sq;
  at::Tensor step;  ///< float32, no dimensions: steps that this tensor took
};

/// Steps the tensors of all model parts together. A tensor without a gradient is left alone, state
/// and step count included.
class Optimizer {
 public:
  /// Makes the state, zeros. Throws a usage error for options out of range and for an empty list.
  Optimizer(std::vector<OptimizedTensor> tensors, const AdamOptions& options);

  const AdamOptions& options() const { return options_; }
  double lr() const { return options_.lr; }
  void set_lr(double lr) { options_.lr = lr; }

  const std::vector<OptimizedTensor>& tensors() const { return tensors_; }
  /// One per tensor, in the order of tensors(). Load a checkpoint by copying into it.
  std::vector<AdamState>& states() { return states_; }
  const std::vector<AdamState>& states() const { return states_; }
  /// Gradients that are there, in the order of tensors().
  std::vector<at::Tensor> gradients() const;

  /// `hook` runs once after every step that was taken, in order of registration, with its number.
  void register_step_post_hook(std::function<void(int64_t step)> hook);

  /// Updates every tensor, raises the versions and runs the hooks. `step` is the 1-based number of
  /// the step, for the hooks. With `skip` (gradients not finite) nothing changes and no hook runs.
  /// Gradients are multiplied by `gradient_factor` (see clip_coefficient) in the same pass over
  /// memory, and hold the product afterwards.
  void step(int64_t step, bool skip = false, double gradient_factor = 1.0);

  /// Drops all gradients; their memory is free until the next backward.
  void zero_grad();

 private:
  AdamOptions options_;
  std::vector<OptimizedTensor> tensors_;
  std::vector<AdamState> states_;
  std::vector<std::function<void(int64_t)>> hooks_;
};

}  // namespace titan::optim
