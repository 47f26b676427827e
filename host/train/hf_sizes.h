/// Whether weights from a Hugging Face folder mean the model that they are loaded into.
#pragma once

#include <filesystem>

#include "config/config.h"
#include "model/train_spec.h"

namespace titan::train {

/// Compares `args` with the config.json beside the weights, if `file_or_folder` is a folder that
/// has one. Shapes alone do not tell: weights made for other rotary frequencies load, and compute
/// nonsense. Differences that `given` (model.args of the config) asks for are logged as a warning;
/// others are a data error that lists them all.
void check_hf_sizes(const std::filesystem::path& file_or_folder, const model::TrainSpec& spec,
                    const model::ModelArgs& args, const config::ModelArgs& given);

}  // namespace titan::train
