/// `titan train --dry-run`: everything up to the first step, without memory for weights.
#pragma once

#include <filesystem>

#include "commands/command.h"
#include "commands/plugin_setup.h"
#include "config/config.h"
#include "model/train_spec.h"

namespace titan::commands {

/// Opens the data, applies the converters, looks for the checkpoint to go on from and for places
/// that cannot be written, estimates a step, and prints what the run would be. Writes no file.
/// Errors are those of a run.
void dry_run(const ConfigArguments& arguments, const config::Config& config,
             const model::TrainSpecRegistry& specs, const AppliedConverters& applied,
             const std::filesystem::path& data_dir);

}  // namespace titan::commands
