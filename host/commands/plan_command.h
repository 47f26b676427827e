/// `titan plan`: what the converters of a config would change, without allocating a weight.
#pragma once

#include <optional>
#include <string>

#include "commands/command.h"

namespace titan::commands {

/// Prints the plan. `device` is a name for assumed_device(); without it the plan is for the device
/// that training.device resolves to.
void plan(const ConfigArguments& arguments, const std::optional<std::string>& device, bool json);

}  // namespace titan::commands
