#include "reference_model.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/tensor.h>
#include <c10/core/GradMode.h>

#include <cstring>

#include "base/error.h"
#include "model/loss.h"
#include "optim/clip.h"
#include "reference.h"

namespace titan::device_check {
namespace {

model::ModelArgs arguments_of(const Json& config) {
  const Json& sizes = config.at("model");
  model::ModelArgs args;
  args.dim = sizes.at("dim").integer();
  args.n_layers = sizes.at("n_layers").integer();
  args.n_heads = sizes.at("n_heads").integer();
  args.n_kv_heads = sizes.at("n_kv_heads").integer();
  args.vocab_size = sizes.at("vocab_size").integer();
  args.multiple_of = sizes.at("multiple_of").integer();
  args.norm_eps = sizes.at("norm_eps").number();
  args.rope_theta = sizes.at("rope_theta").number();
  const Json& scaling = sizes.at("rope_scaling_args");
  args.rope_scaling.factor = scaling.at("scaling_factor").number();
  args.rope_scaling.low_freq_factor = scaling.at("low_freq_factor").number();
  args.rope_scaling.high_freq_factor = scaling.at("high_freq_factor").number();
  args.rope_scaling.original_max_position_embeddings =
      scaling.at("original_max_position_embeddings").integer();
  args.max_seq_len = config.at("training").at("seq_len").integer();
  return args;
}

/// What the config would make of `float8: {recipe: ..}`: that, and the defaults of the plugin's
/// note.
std::vector<config::ConverterRequest> requests_of(const Float8Use& use) {
  config::ConverterRequest wanted;
  wanted.converter = wanted.instance = "float8";
  wanted.exclude = {"output"};
  wanted.options["recipe"] = {false, {use.recipe}};
  wanted.options["emulate"] = {false, {use.emulate}};
  for (const char* name : {"auto_filter_small_kn", "pad_inner_dim", "strict", "grad_weight_fp32"})
    wanted.options[name] = {false, {false}};
  for (const char* name : {"power_of_two_scales", "fast_accum_output", "fast_accum_grad_input",
                           "fast_accum_grad_weight"})
    wanted.options[name] = {false, {std::string("auto")}};
  wanted.options["amax_compute_algo"] = {false, {std::string("max")}};
  wanted.options["amax_history_len"] = {false, {int64_t{1024}}};
  for (const char* name : {"margin", "metrics_freq"}) wanted.options[name] = {false, {int64_t{0}}};
  return {wanted};
}

std::map<std::string, at::Tensor> copied(const std::map<std::string, at::Tensor>& tensors) {
  std::map<std::string, at::Tensor> result;
  for (const auto& [name, tensor] : tensors)
    result[name] = tensor.detach().to(at::kCPU, /*non_blocking=*/false, /*copy=*/true);
  return result;
}

}  // namespace

ReferenceModel::ReferenceModel(at::Device device, void* stream,
                               const std::optional<Float8Use>& float8)
    : device_(device), stream_(stream) {
  const Json config = reference_json("llama/config.json");
  const Json& training = config.at("training");
  model_ = std::make_unique<model::Transformer>(arguments_of(config), at::kFloat);
  if (float8) {
    converters::RunFacts run;
    run.compute_type = at::kBFloat16;
    container_ = std::make_unique<converters::ModelConvertersContainer>(
        *float8->registry, requests_of(*float8), float8->device, run);
    container_->convert(*model_);
  }
  model::materialize(*model_, device, 0);
  const ReferenceFile weights("llama/weights_native.safetensors");
  const c10::NoGradGuard no_grad;
  for (const auto& named : model::named_parameters(*model_)) {
    const test::GoldenTensor& golden = weights[named.fqn];
    named.parameter->tensor.copy_(
        at::from_blob(const_cast<uint8_t*>(golden.bytes.data()), golden.shape, at::kFloat));
    named.parameter->tensor.requires_grad_(true);
  }
  if (container_) container_->after_init(*model_, converters::HookReason::kLoaded, {});

  optim::AdamOptions adam;
  adam.lr = base_rate_ = training.at("lr").number();
  adam.beta1 = training.at("beta1").number();
  adam.beta2 = training.at("beta2").number();
  adam.eps = training.at("eps").number();
  adam.weight_decay = training.at("weight_decay").number();
  optimizer_ = std::make_unique<optim::Optimizer>(optim::trainable_tensors(*model_), adam);
  if (container_)
    optimizer_->register_step_post_hook(
        [this](int64_t step) { container_->post_optimizer_hook(*model_, step); });
  optim::LrScheduleOptions schedule;
  schedule.total_steps = 1000000;  // warm up and hold
  schedule.warmup_steps = training.at("warmup_steps").integer();
  schedule.decay_ratio = 0.0;
  schedule_ = std::make_unique<optim::LrSchedule>(schedule);
  max_norm_ = training.at("max_norm").number();

  const std::string bytes = reference_text("llama/tokens.bin");
  tokens_.resize(bytes.size() / 2);
  std::memcpy(tokens_.data(), bytes.data(), 2 * tokens_.size());
  batch_size_ = training.at("batch_size").integer();
  length_ = training.at("seq_len").integer();
  batches_ = static_cast<int64_t>(tokens_.size()) / (batch_size_ * (length_ + 1));
  if (batches_ < 2)
    throw data_error("the reference tokens hold fewer than two batches", "llama/tokens.bin",
                     "put the file back (git checkout)");
}

TokenBatch ReferenceModel::batch(int64_t step) const {
  std::vector<int64_t> inputs, labels;
  for (int64_t sample = 0; sample < batch_size_; ++sample) {
    const int64_t first = (step % batches_ * batch_size_ + sample) * (length_ + 1);
    for (int64_t i = 0; i < length_; ++i) {
      inputs.push_back(tokens_[static_cast<size_t>(first + i)]);
      labels.push_back(tokens_[static_cast<size_t>(first + i + 1)]);
    }
  }
  const auto placed = [&](const std::vector<int64_t>& values) {
    return at::tensor(values, at::kLong).view({batch_size_, length_}).to(device_);
  };
  return {placed(inputs), placed(labels)};
}

at::Tensor ReferenceModel::step(const TokenBatch& batch, bool clip) {
  optimizer_->zero_grad();
  optimizer_->set_lr(base_rate_ * schedule_->factor(steps_done_));
  model::CallContext context;
  context.step = steps_done_ + 1;
  context.training = true;
  context.stream = stream_;
  context.mixed_precision = &mixed_;
  // Every label of the reference counts.
  const at::Tensor loss =
      model::cross_entropy((*model_)(context, {batch.tokens}), batch.labels, batch.labels.numel());
  loss.backward();
  mixed_.drop();
  if (clip) optim::clip_grad_norm(optimizer_->gradients(), max_norm_);
  optimizer_->step(++steps_done_);
  return loss.detach();
}

std::map<std::string, at::Tensor> ReferenceModel::parameters() {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& named : model::named_parameters(*model_))
    tensors[named.fqn] = named.parameter->tensor;
  for (size_t i = 0; i < optimizer_->states().size(); ++i) {
    const std::string& name = optimizer_->tensors()[i].fqn;
    tensors[name + " exp_avg"] = optimizer_->states()[i].exp_avg;
    tensors[name + " exp_avg_sq"] = optimizer_->states()[i].exp_avg_sq;
    tensors[name + " step"] = optimizer_->states()[i].step;
  }
  return copied(tensors);
}

std::map<std::string, at::Tensor> ReferenceModel::buffers() {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& named : model::named_buffers(*model_)) tensors[named.fqn] = named.buffer->tensor;
  return copied(tensors);
}

int64_t ReferenceModel::replaced() {
  int64_t count = 0;
  model::visit_modules(*model_, [&](model::Module& module) { count += module.replaced(); });
  return count;
}

}  // namespace titan::device_check
