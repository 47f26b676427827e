/// One training run, from config to trained weights.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

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

namespace titan::train {

struct TrainerOptions {
  config::Config config;
  std::vector<config::ConverterRequest> converters;
  Device device;
  std::filesystem::path data_dir;  ///< where the built-in dataset lies
};

/// Numbers of one optimizer step, as torchtitan defines them.
struct StepResult {
  int64_t step = 0;      ///< 1-based
  double loss = 0;       ///< mean over the valid labels of the global batch
  double grad_norm = 0;  ///< before clipping
  double lr = 0;         ///< used in this step
  int64_t tokens = 0;    ///< input tokens of this step
  std::map<std::string, double> converter_metrics;
};

/// The constructor reads like the data's way through the house; each line is one call.
class Trainer {
 public:
  Trainer(TrainerOptions options, const model::TrainSpecRegistry& specs,
          const converters::Registry& registry);

  /// zero_grad, micro-batches forward and backward, clip, optimizer step (and the converters'
  /// hooks), schedule. A loss or gradient norm that is not finite stops the run (exit status 5) and
  /// leaves the weights of the last good step.
  StepResult step();

  int64_t steps_done() const { return steps_done_; }
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
  /// Returns the converter state that the files did not hold.
  std::set<std::string> load_initial_weights(const model::TrainSpec& spec,
                                             const model::ModelArgs& args);
  [[noreturn]] void diverged(int64_t step, const std::string& what) const;

  TrainerOptions options_;
  model::ModelArgs args_;
  std::unique_ptr<data::Loader> loader_;
  std::unique_ptr<model::MixedPrecision> mixed_precision_;  ///< null: all in the parameters' type
  std::unique_ptr<model::Module> model_;
  std::unique_ptr<converters::ModelConvertersContainer> converters_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::unique_ptr<optim::LrSchedule> schedule_;
  std::vector<std::string> summary_;
  std::map<std::string, double> metrics_;  ///< of the step in progress
  int64_t accumulation_steps_ = 1;
  int64_t steps_done_ = 0;
  int64_t parameter_count_ = 0;
};

}  // namespace titan::train
