/// The sizes of the model to build: a flavor, with what the config overrides.
#pragma once

#include "config/config.h"
#include "model/train_spec.h"

namespace titan::train {

/// The flavor's arguments with model.args applied, checked. max_seq_len becomes training.seq_len, as
/// torchtitan does (or validation.seq_len if that is longer); a longer sequence than the model's own
/// limit is a usage error.
model::ModelArgs resolve_model_args(const model::TrainSpec& spec, const config::Config& config);

}  // namespace titan::train
