#include "optim/adamw.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/suggest.h"

namespace titan::optim {
namespace {

void check_option(bool holds, const std::string& key, double value, const std::string& rule) {
  if (!holds)
    throw usage_error("optimizer." + key + " is " + std::to_string(value), "optimizer." + key,
                      "it must be " + rule);
}

void check_options(const AdamOptions& options) {
  check_option(options.lr >= 0.0 && std::isfinite(options.lr), "lr", options.lr,
               "a finite number that is not negative");
  check_option(options.beta1 >= 0.0 && options.beta1 < 1.0, "beta1", options.beta1, "in [0, 1)");
  check_option(options.beta2 >= 0.0 && options.beta2 < 1.0, "beta2", options.beta2, "in [0, 1)");
  check_option(options.eps >= 0.0 && std::isfinite(options.eps), "eps", options.eps,
               "a finite number that is not negative");
  check_option(options.weight_decay >= 0.0 && std::isfinite(options.weight_decay), "weight_decay",
               options.weight_decay, "a finite number that is not negative");
}

/// The tensors that one fused kernel updates: equal device and dtype.
struct FusedGroup {
  std::vector<at::Tensor> tensors, gradients, exp_avgs, exp_avg_sqs, steps;
};

void update_group(FusedGroup& group, const AdamOptions& options, double gradient_factor) {
  at::_foreach_add_(group.steps, 1);
  // The kernels divide by it, as gradient scalers want.
  std::optional<at::Tensor> divisor;
  if (gradient_factor != 1.0)
    divisor = at::full({}, 1.0 / gradient_factor, group.steps.front().options());
  const auto call = [&](auto fused) {
    fused(group.tensors, group.gradients, group.exp_avgs, group.exp_avg_sqs,
          /*max_exp_avg_sqs=*/at::TensorList{}, group.steps, options.lr, options.beta1,
          options.beta2, options.weight_decay, options.eps, /*amsgrad=*/false, /*maximize=*/false,
          /*grad_scale=*/divisor, /*found_inf=*/std::nullopt);
  };
  if (options.kind == AdamKind::kAdamW)
    call([](auto&&... arguments) { at::_fused_adamw_(arguments...); });
  else
    call([](auto&&... arguments) { at::_fused_adam_(arguments...); });
}

}  // namespace

AdamKind parse_adam_kind(const std::string& name) {
  if (name == "AdamW") return AdamKind::kAdamW;
  if (name == "Adam") return AdamKind::kAdam;
  throw usage_error("no optimizer is named '" + name + "'", "optimizer.name",
                    did_you_mean(name, {"AdamW", "Adam"}) + "optimizers: AdamW, Adam");
}

std::vector<OptimizedTensor> trainable_tensors(model::Module& root) {
  std::vector<OptimizedTensor> result;
  for (const auto& [fqn, parameter, module] : model::named_parameters(root)) {
    if (parameter->tensor.is_meta())
      throw internal_error("the optimizer is made before the parameters have values", fqn);
    if (parameter->tensor.requires_grad()) result.push_back({fqn, parameter->tensor, parameter});
  }
  return result;
}

Optimizer::Optimizer(std::vector<OptimizedTensor> tensors, const AdamOptions& options)
    : options_(options), tensors_(std::move(tensors)) {
  check_options(options_);
  if (tensors_.empty())
    throw usage_error("no parameter takes a gradient: there is nothing to train", "optimizer",
                      "let a converter that freezes leave or add at least one parameter");
  states_.reserve(tensors_.size());
  for (const OptimizedTensor& one : tensors_)
    states_.push_back({at::zeros_like(one.tensor.detach()), at::zeros_like(one.tensor.detach()),
                       at::zeros({}, one.tensor.options().dtype(at::kFloat).requires_grad(false))});
}

std::vector<at::Tensor> Optimizer::gradients() const {
  std::vector<at::Tensor> result;
  for (const OptimizedTensor& one : tensors_)
    if (one.tensor.grad().defined()) result.push_back(one.tensor.grad());
  return result;
}

void Optimizer::register_step_post_hook(std::function<void(int64_t step)> hook) {
  hooks_.push_back(std::move(hook));
}

void Optimizer::step(int64_t step, bool skip, double gradient_factor) {
  if (skip) return;
  {
    const at::NoGradGuard no_grad;
    std::map<std::pair<std::string, at::ScalarType>, FusedGroup> groups;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const at::Tensor& tensor = tensors_[i].tensor;
      if (!tensor.grad().defined()) continue;
      FusedGroup& group = groups[{tensor.device().str(), tensor.scalar_type()}];
      group.tensors.push_back(tensor);
      group.gradients.push_back(tensor.grad());
      group.exp_avgs.push_back(states_[i].exp_avg);
      group.exp_avg_sqs.push_back(states_[i].exp_avg_sq);
      group.steps.push_back(states_[i].step);
      ++tensors_[i].parameter->version;
    }
    for (auto& [key, group] : groups) update_group(group, options_, gradient_factor);
  }
  for (const auto& hook : hooks_) hook(step);
}

void Optimizer::zero_grad() {
  for (const OptimizedTensor& one : tensors_) one.tensor.mutable_grad() = at::Tensor();
}

}  // namespace titan::optim
