/// The sizes of the model to build: a flavor, with what the config overrides.
#pragma once

#include "config/config.h"
#include "model/train_spec.h"

namespace titan::train {

/// The flavor whose sizes config.json of a Hugging Face folder gives, through config_args().
inline constexpr const char* kFlavorFromHf = "from_hf";

/// `args` as the keys of a config, all of them set.
config::ModelArgs config_args(const model::ModelArgs& args);

/// The flavor's arguments with model.args applied, checked.
model::ModelArgs whole_model_args(const model::TrainSpec& spec, const config::Model& model);

/// The same for a run: max_seq_len becomes training.seq_len, as
/// torchtitan does (or validation.seq_len if that is longer); a longer sequence than the model's
/// own limit is a usage error.
model::ModelArgs resolve_model_args(const model::TrainSpec& spec, const config::Config& config);

}  // namespace titan::train
