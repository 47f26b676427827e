/// What the config says about the data, as the loaders take it.
#pragma once

#include <cstdint>
#include <filesystem>

#include "config/config.h"
#include "data/dataset.h"

namespace titan::train {

/// model.tokenizer_path, or what the folder of model.flavor from_hf holds; without either a byte an
/// id.
data::TokenizerOptions tokenizer_options(const config::Config& config);

/// Section training. `data_dir` holds the built-in text.
data::DatasetOptions training_data(const config::Config& config, int64_t vocab_size,
                                   const std::filesystem::path& data_dir);

/// Section validation, one sample a batch: the last batch of a validation may be smaller. What the
/// section does not say is as in training.
data::DatasetOptions validation_data(const config::Config& config, int64_t vocab_size,
                                     const std::filesystem::path& data_dir);

}  // namespace titan::train
