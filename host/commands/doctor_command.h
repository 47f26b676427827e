/// titan doctor: whether this machine can train, and what a bug report needs.
#pragma once

#include "commands/command.h"

namespace titan::commands {

/// Prints facts and problems; every plugin is tried in a process of its own. False if there is a
/// problem.
bool doctor(const ConfigArguments& arguments, bool json);

}  // namespace titan::commands
