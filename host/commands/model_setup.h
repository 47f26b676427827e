/// The models this program knows, and a config completed with what the model's family asks for.
#pragma once

#include "config/load.h"
#include "model/train_spec.h"

namespace titan::commands {

/// Every family, frozen.
model::TrainSpecRegistry train_specs();

/// A family may name converters of its own; they apply when the config has no model.converters.
config::LoadedConfig with_default_converters(config::LoadedConfig config, const model::TrainSpec& spec);

}  // namespace titan::commands
