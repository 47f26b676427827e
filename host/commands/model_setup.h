/// The models this program knows, and a config completed with what the model's family asks for.
#pragma once

#include <filesystem>

#include "config/load.h"
#include "model/train_spec.h"

namespace titan::commands {

/// Every family, frozen.
model::TrainSpecRegistry train_specs();

/// The family of the model that a Hugging Face config.json describes; a data error if there is
/// none.
const model::TrainSpec& spec_of_hf_config(const model::TrainSpecRegistry& specs,
                                          const std::filesystem::path& config);

/// Whether the sizes that a Hugging Face config.json gives are within the limits of section
/// model.args, and the layers no more than the tensors of the weight files beside it (if there are
/// any): building a model of absurd sizes takes for ever. A data error.
void check_hf_args(const model::ModelArgs& args, const std::filesystem::path& folder);

/// With model.flavor: from_hf, model.args filled from the config.json of model.hf_assets_path,
/// which becomes checkpoint.initial_load_path where it is not set. What the config gives itself
/// stays, and each such difference is logged.
config::LoadedConfig with_hf_sizes(config::LoadedConfig config, const model::TrainSpec& spec);

/// A family may name converters of its own; they apply when the config has no model.converters.
config::LoadedConfig with_default_converters(config::LoadedConfig config,
                                             const model::TrainSpec& spec);

}  // namespace titan::commands
