#include "train/trainer.h"

#include <ATen/Functions.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/text_list.h"
#include "checkpoint/load_weights.h"
#include "model/training_loss.h"
#include "optim/clip.h"
#include "train/activation_checkpoint.h"
#include "train/batch_tensors.h"
#include "train/data_options.h"
#include "train/initial_weights.h"
#include "train/model_args.h"
#include "train/precision.h"
#include "train/random_state.h"
#include "train/state_backup.h"

namespace titan::train {
namespace {

/// One process holds the whole global batch; the config has checked that it divides.
int64_t accumulation_steps(const config::Training& training) {
  return training.global_batch_size < 0 ? 1
                                        : training.global_batch_size / training.local_batch_size;
}

optim::AdamOptions adam_options(const config::Optimizer& given) {
  optim::AdamOptions options;
  options.kind = optim::parse_adam_kind(given.name);
  options.lr = given.lr;
  options.beta1 = given.beta1;
  options.beta2 = given.beta2;
  options.eps = given.eps;
  options.weight_decay = given.weight_decay;
  return options;
}

optim::LrScheduleOptions schedule_options(const config::Config& config) {
  const config::LrScheduler& given = config.lr_scheduler;
  optim::LrScheduleOptions options;
  options.total_steps = given.total_steps.value_or(config.training.steps);
  options.warmup_steps = given.warmup_steps;
  options.decay_ratio = given.decay_ratio;
  options.decay_shape = optim::parse_decay_shape(given.decay_type);
  options.min_lr_factor = given.min_lr_factor;
  return options;
}

/// Weights, gradients and Adam's moments are the least that training needs. Better to say so at
/// once than after minutes of filling memory.
void require_memory(model::Module& root, const converters::DeviceFacts& device) {
  uint64_t bytes = 0;
  for (const auto& named : model::named_parameters(root)) {
    const at::Tensor& tensor = named.parameter->tensor;
    const auto size = static_cast<uint64_t>(tensor.numel()) * tensor.element_size();
    bytes += tensor.requires_grad() ? 4 * size : size;
  }
  for (const auto& named : model::named_buffers(root))
    bytes +=
        static_cast<uint64_t>(named.buffer->tensor.numel()) * named.buffer->tensor.element_size();
  if (device.memory_bytes == 0 || bytes <= device.memory_bytes) return;
  throw environment_error(
      "weights, gradients and optimizer state need " + gib(bytes) + ", the device has " +
          gib(device.memory_bytes),
      device.name,
      "choose a smaller model (model.flavor, model.args), training.dtype: bfloat16, or a machine "
      "with more memory");
}

void require_added(model::Module& root) {
  for (const auto& named : model::named_parameters(root))
    if (!named.parameter->stored_as.empty() && named.parameter->layout.empty()) return;
  throw usage_error("checkpoint.adapter_only is set, but no applied converter adds a parameter",
                    "checkpoint.adapter_only",
                    "apply one that does (lora, for example), or leave the key out");
}

}  // namespace

Trainer::Trainer(TrainerOptions options, const model::TrainSpecRegistry& specs,
                 const converters::Registry& registry)
    : options_(std::move(options)) {
  const config::Config& config = options_.config;
  const model::TrainSpec& spec = specs.get(config.model.name);
  args_ = resolve_model_args(spec, config);

  converters_ = std::make_unique<converters::ModelConvertersContainer>(
      registry, options_.converters, options_.device.facts, run_facts(config.training));
  loader_ = data::make_loader(training_data(config, args_.vocab_size, options_.data_dir));
  if (config.validation.enable)
    validator_ = std::make_unique<Validator>(config, args_.vocab_size, options_.data_dir);
  if (config.samples.enable)
    samples_ = std::make_unique<TextSamples>(config, args_.vocab_size, args_.max_seq_len);
  mixed_precision_ = make_mixed_precision(config.training);
  model_ = spec.build(args_, parameter_type(config.training));
  converters_->convert(*model_);
  for (const auto& named : model::named_parameters(*model_))
    parameter_count_ += named.parameter->tensor.numel();
  log_info("model " + config.model.name + " " + config.model.flavor + ": " +
           with_commas(parameter_count_) + " parameters, " +
           with_commas(model::flops_per_token(args_, config.training.seq_len)) +
           " FLOPs per token");
  require_memory(*model_, options_.device.facts);
  if (config.checkpoint.adapter_only) require_added(*model_);
  summary_ = {"precision: " + describe_precision(config.training),
              "activation checkpointing: " +
                  apply_activation_checkpoint(*model_, config.activation_checkpoint)};
  record_ = make_run_record(config, options_.converters, options_.plugins,
                            options_.device.device.is_cuda());
  if (options_.dry_run) {
    rehearse_start(spec);
    return;
  }
  model::materialize(*model_, options_.device.device, static_cast<uint64_t>(config.training.seed));
  seed_generators(options_.device.device, config.training.seed);
  optimizer_ = std::make_unique<optim::Optimizer>(optim::trainable_tensors(*model_),
                                                  adam_options(config.optimizer));
  optimizer_->register_step_post_hook(
      [this](int64_t step) { converters_->post_optimizer_hook(*model_, step, &metrics_); });
  schedule_ = std::make_unique<optim::LrSchedule>(schedule_options(config));
  for (const std::string& warning : schedule_->warnings()) log_warning(warning);
  if (const auto total = config.lr_scheduler.total_steps; total && *total < config.training.steps)
    log_warning("lr_scheduler.total_steps (" + std::to_string(*total) +
                ") is less than training.steps (" + std::to_string(config.training.steps) +
                "): after it the learning rate stays at its last value");
  nonfinite_ = std::make_unique<NonfiniteGuard>(config.training, converters_->instance_names());
  ResumeReport loaded;
  if (options_.resume)
    loaded = resume_run(*options_.resume, record_, config.checkpoint.exclude_from_loading, parts());
  // Also for a resumed run that leaves out the model: its weights begin like those of a new run.
  if (!loaded.model_loaded) {
    InitialWeights initial = load_initial_weights(*model_, spec, args_, config);
    loaded.model_loaded = initial.loaded;
    loaded.missing = std::move(initial.missing);
  }
  // What was computed from the initial values is of no use any more.
  if (loaded.model_loaded)
    model::visit_modules(*model_, [](model::Module& module) { module.drop_caches(); });
  converters_->after_init(
      *model_,
      loaded.model_loaded ? converters::HookReason::kLoaded : converters::HookReason::kFresh,
      loaded.missing, nullptr, position_.step);
  // The hooks of converters that the saved run had have done their work there; that of a new one
  // counts.
  if (options_.resume && loaded.from_checkpoint && converters_->has_hooks() &&
      !loaded.new_converter)
    put_back_model(*options_.resume, parts());
  accumulation_steps_ = accumulation_steps(config.training);
}

void Trainer::rehearse_start(const model::TrainSpec& spec) {
  const std::vector<std::string>& exclude = options_.config.checkpoint.exclude_from_loading;
  if (options_.resume) rehearse_resume(*options_.resume, record_, exclude, *model_, *loader_);
  const bool without_model = std::find(exclude.begin(), exclude.end(), "model") != exclude.end();
  if (!options_.resume || without_model)
    load_initial_weights(*model_, spec, args_, options_.config);
}

std::optional<ValidationResult> Trainer::validate_if_due(const std::function<bool()>& stopped) {
  if (!validator_ || !validator_->due(position_.step)) return std::nullopt;
  model::CallContext context;
  context.step = position_.step;
  context.mixed_precision = mixed_precision_.get();
  const std::optional<ValidationResult> result =
      validator_->run(*model_, context, options_.device.device, stopped);
  if (mixed_precision_) mixed_precision_->drop();
  return result;
}

std::optional<WrittenSamples> Trainer::write_samples_if_due(const std::function<bool()>& stopped) {
  if (!samples_ || !samples_->due(position_.step)) return std::nullopt;
  model::CallContext context;
  context.step = position_.step;
  context.mixed_precision = mixed_precision_.get();
  WrittenSamples written = samples_->write(*model_, context, options_.device.device, stopped);
  if (mixed_precision_) mixed_precision_->drop();
  return written;
}

checkpoint::Snapshot Trainer::snapshot(bool model_only) {
  checkpoint::Snapshot snapshot =
      take_snapshot(parts(), record_, options_.config.training.seed, model_only,
                    options_.config.checkpoint.export_dtype);
  if (model_only && options_.config.checkpoint.adapter_only)
    std::erase_if(snapshot.model,
                  [](const auto& entry) { return !checkpoint::is_added_name(entry.first); });
  return snapshot;
}

model::CallContext Trainer::context_of(int64_t micro_batch) {
  model::CallContext context;
  context.step = position_.step + 1;
  context.micro_batch = micro_batch;
  context.training = true;
  context.metrics = &metrics_;
  context.mixed_precision = mixed_precision_.get();
  return context;
}

at::Tensor Trainer::loss_of(const model::CallContext& context, const data::Batch& batch,
                            int64_t valid_labels) {
  RECORD_USER_SCOPE("forward");
  const at::Device device = options_.device.device;
  return model::training_loss(*model_, context, tokens_of(batch, device), labels_of(batch, device),
                              valid_labels);
}

void Trainer::find_culprit(const std::vector<data::Batch>& batches, int64_t valid_labels) {
  if (converters_->empty() || nonfinite_->skips()) return;
  for (const auto& named : model::named_parameters(*model_)) {
    const at::Tensor& tensor = named.parameter->tensor;
    if (at::isfinite(tensor.detach()).all().item<bool>()) continue;
    log_warning(
        "parameter '" + named.fqn + "' is not finite" +
        (converters_->has_hooks() ? ": the optimizer or a converter's hook made it so" : ""));
    return;
  }
  for (size_t i = 0; i < batches.size(); ++i) {
    model::CallContext context = context_of(static_cast<int64_t>(i));
    context.find_nonfinite = true;
    context.recompute = true;  // what converters count was counted already
    context.metrics = nullptr;
    loss_of(context, batches[i], valid_labels).backward();
  }
}

void Trainer::check_gradients(int64_t step) {
  if (checked_gradients_) return;
  checked_gradients_ = true;
  std::vector<std::string> stock, added;
  for (const auto& named : model::named_parameters(*model_)) {
    const model::Parameter& parameter = *named.parameter;
    if (!parameter.tensor.requires_grad() || parameter.tensor.grad().defined()) continue;
    const bool of_model = parameter.stored_as.empty() || !parameter.layout.empty();
    (of_model ? stock : added).push_back(named.fqn);
  }
  if (!stock.empty())
    throw plugin_error(
        "parameter '" + stock.front() + "'" +
            (stock.size() > 1 ? " and " + std::to_string(stock.size() - 1) + " others" : "") +
            " got no gradient in step " + std::to_string(step) + ": they would never be trained",
        "converters: " + joined(converters_->instance_names()),
        "a converter replaced code that used them by code that does not, or that hides it from "
        "autograd "
        "(data pointers); leave it out or report it to its author");
  if (!added.empty())
    log_warning("the added parameter '" + added.front() + "'" +
                (added.size() > 1 ? " and " + std::to_string(added.size() - 1) + " others" : "") +
                " got no gradient in step " + std::to_string(step) + ": no code uses them");
}

StepResult Trainer::step() {
  StepResult result;
  result.step = position_.step + 1;
  result.lr = options_.config.optimizer.lr * schedule_->factor(position_.schedule_step);
  metrics_.clear();
  // What a bad step may have done to statistics is undone with it.
  const StateBackup buffers = nonfinite_->skips() ? StateBackup(*model_) : StateBackup();

  // All micro-batches first: the loss is normalised by the valid labels of the whole global batch.
  std::vector<data::Batch> batches;
  int64_t valid_labels = 0;
  for (int64_t i = 0; i < accumulation_steps_; ++i) {
    RECORD_USER_SCOPE("next batch");
    const auto asked = std::chrono::steady_clock::now();
    batches.push_back(loader_->next());
    result.data_seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - asked).count();
    valid_labels += data::count_valid_labels(batches.back().labels);
    result.tokens += static_cast<int64_t>(batches.back().tokens.size());
  }

  optimizer_->zero_grad();
  at::Tensor loss_sum;
  for (int64_t i = 0; i < accumulation_steps_; ++i) {
    const at::Tensor loss = loss_of(context_of(i), batches[i], valid_labels);
    {
      RECORD_USER_SCOPE("backward");
      loss.backward();
    }
    loss_sum = loss_sum.defined() ? at::add(loss_sum, loss.detach()) : loss.detach();
  }
  // All micro-batches have used the same copies; the optimizer needs the memory, not the copies.
  if (mixed_precision_) mixed_precision_->drop();
  result.loss = loss_sum.item<double>();
  // The step is taken only if both numbers are sound; the gradients are clipped in it.
  {
    RECORD_USER_SCOPE("gradient norm");
    result.grad_norm = std::sqrt(optim::sum_of_squares(optimizer_->gradients()));
  }
  check_gradients(result.step);
  if (!std::isfinite(result.loss) || !std::isfinite(result.grad_norm))
    find_culprit(batches, valid_labels);
  result.skipped = nonfinite_->must_skip(result.step, result.loss, result.grad_norm, position_);
  if (result.skipped) buffers.restore();

  optimizer_->set_lr(result.lr);
  {
    RECORD_USER_SCOPE("optimizer");
    optimizer_->step(result.step, result.skipped,
                     optim::clip_coefficient(result.grad_norm, options_.config.training.max_norm));
  }
  ++position_.step;
  ++position_.schedule_step;
  position_.tokens_seen += result.tokens;
  result.converter_metrics = metrics_;
  return result;
}

}  // namespace titan::train
