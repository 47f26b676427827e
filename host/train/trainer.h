/// One training run, from config to trained weights.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/save_checkpoint.h"
#include "checkpoint/step_folder.h"
#include "config/config.h"
#include "config/option_schema.h"
#include "converters/container.h"
#include "data/loader.h"
#include "model/mixed_precision.h"
#include "model/module.h"
#include "model/train_spec.h"
#include "optim/adamw.h"
#include "optim/lr_schedule.h"
#include "train/device.h"
#include "train/nonfinite_guard.h"
#include "train/resume.h"
#include "train/run_record.h"
#include "train/text_samples.h"
#include "train/validator.h"

namespace titan::train {

struct TrainerOptions {
  config::Config config;
  std::vector<config::ConverterRequest> converters;
  Device device;
  std::filesystem::path data_dir;  ///< where the built-in dataset lies
  /// The plugin that each converter comes from, by the converter's name; for checkpoints.
  std::map<std::string, checkpoint::ConverterRecord> plugins = {};
  std::optional<checkpoint::StepFolder> resume = {};  ///< goes before checkpoint.initial_load_path
  /// Stops before weights get memory, but for that the checkpoint or the initial weights are
  /// checked: look at the model, do not step.
  bool dry_run = false;
};

/// Numbers of one optimizer step, as torchtitan defines them.
struct StepResult {
  int64_t step = 0;         ///< 1-based
  double loss = 0;          ///< mean over the valid labels of the global batch
  double grad_norm = 0;     ///< before clipping
  double lr = 0;            ///< used in this step
  int64_t tokens = 0;       ///< input tokens of this step
  double data_seconds = 0;  ///< waited for batches
  bool skipped = false;     ///< not finite: the optimizer took no step
  std::map<std::string, double> converter_metrics;
};

/// The constructor reads like the data's way through the house; each line is one call.
class Trainer {
 public:
  Trainer(TrainerOptions options, const model::TrainSpecRegistry& specs,
          const converters::Registry& registry);

  /// zero_grad, micro-batches forward and backward, clip, optimizer step (and the converters'
  /// hooks), schedule. A loss or gradient norm that is not finite stops the run (exit status 5) or
  /// skips the step (training.on_nonfinite), and leaves the state of the last good step.
  StepResult step();

  /// The loss on the validation data, if it is due after this step. Training goes on as without.
  std::optional<ValidationResult> validate_if_due(const std::function<bool()>& stopped = {});

  /// Texts that the model writes, if they are due after this step. Training goes on as without.
  std::optional<WrittenSamples> write_samples_if_due(const std::function<bool()>& stopped = {});

  /// For a checkpoint; the tensors are the live ones.
  checkpoint::Snapshot snapshot(bool model_only);

  const checkpoint::RunPosition& position() const { return position_; }
  int64_t steps_done() const { return position_.step; }
  int64_t total_steps() const { return options_.config.training.steps; }
  model::Module& model() { return *model_; }
  const converters::ModelConvertersContainer& converters() const { return *converters_; }
  const Device& device() const { return options_.device; }
  int64_t parameter_count() const { return parameter_count_; }
  const model::ModelArgs& model_args() const { return args_; }
  /// How numbers are stored and computed, and what is computed twice: lines for the log.
  const std::vector<std::string>& summary() const { return summary_; }
  int64_t dataset_epoch() const { return loader_->epoch(); }

 private:
  void rehearse_start(const model::TrainSpec& spec);
  model::CallContext context_of(int64_t micro_batch);
  at::Tensor loss_of(const model::CallContext& context, const data::Batch& batch,
                     int64_t valid_labels);
  /// After a step that is not finite: throws a plugin error if a plugin made it so.
  void find_culprit(const std::vector<data::Batch>& batches, int64_t valid_labels);
  /// Once: every trainable parameter must have got a gradient. One of the model's without is an
  /// error, one that a converter added is warned about.
  void check_gradients(int64_t step);
  RunParts parts() { return {*model_, *optimizer_, *loader_, position_, options_.device.device}; }

  TrainerOptions options_;
  model::ModelArgs args_;
  std::unique_ptr<data::Loader> loader_;
  std::unique_ptr<model::MixedPrecision> mixed_precision_;  ///< null: all in the parameters' type
  std::unique_ptr<model::Module> model_;
  std::unique_ptr<converters::ModelConvertersContainer> converters_;
  std::unique_ptr<Validator> validator_;  ///< null: validation is not enabled
  std::unique_ptr<TextSamples> samples_;  ///< null: samples are not enabled
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::unique_ptr<optim::LrSchedule> schedule_;
  std::vector<std::string> summary_;
  std::map<std::string, double> metrics_;  ///< of the step in progress
  RunRecord record_;
  checkpoint::RunPosition position_;
  std::unique_ptr<NonfiniteGuard> nonfinite_;
  int64_t accumulation_steps_ = 1;
  int64_t parameter_count_ = 0;
  bool checked_gradients_ = false;
};

}  // namespace titan::train
