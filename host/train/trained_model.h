/// A model with its converters and weights, to compute with and not to train.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "config/config.h"
#include "config/option_schema.h"
#include "converters/container.h"
#include "model/mixed_precision.h"
#include "model/module.h"
#include "model/train_spec.h"
#include "train/device.h"

namespace titan::train {

struct TrainedModel {
  model::ModelArgs args;
  std::unique_ptr<model::MixedPrecision> mixed_precision;  ///< null: all in the parameters' type
  std::unique_ptr<model::Module> root;
  std::unique_ptr<converters::ModelConvertersContainer> converters;

  /// For a call of `root` after `step` optimizer steps.
  model::CallContext context(int64_t step) const;
};

/// Builds the model of `config` for sequences as long as the model takes, converts it and fills it
/// from checkpoint.initial_load_path (and adapter_load_path). Without a path the weights are those
/// that training.seed gives. `step`: optimizer steps that the weights have seen, for converters.
/// Hooks of converters run, but they do not change weights that a run has saved.
///
/// Throws usage and data errors, and an environment error if the device has less memory than the
/// weights need.
TrainedModel load_trained_model(const config::Config& config, const model::TrainSpec& spec,
                                const converters::Registry& registry,
                                const std::vector<config::ConverterRequest>& requests,
                                const Device& device, int64_t step);

}  // namespace titan::train
