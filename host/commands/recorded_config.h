/// The config of a run, as far as its model goes, from what a checkpoint recorded.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/manifest.h"
#include "config/load.h"

namespace titan::commands {

/// Section model with the converters and their options, and the numeric types and seed of section
/// training. `step`, the checkpoint's folder, is named in errors. A data error if it was made with
/// a key of the model that this program does not know; usage errors are about `overrides`.
config::LoadedConfig recorded_config(const checkpoint::Manifest& manifest,
                                     const std::filesystem::path& step,
                                     const std::vector<std::string>& overrides = {});

}  // namespace titan::commands
