/// titan train: trains a model from a config.
#pragma once

#include <string>
#include <vector>

#include "commands/command.h"

namespace titan::commands {

/// Returns the exit status: 0, or 128 + the signal that stopped the run between two steps.
/// `command_line`: what the user typed, to tell how to go on. `dry`: stops before memory is taken,
/// see dry_run().
int train(const ConfigArguments& arguments, const std::vector<std::string>& command_line, bool dry);

}  // namespace titan::commands
