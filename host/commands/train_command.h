/// titan train: trains a model from a config.
#pragma once

#include "commands/command.h"

namespace titan::commands {

void train(const ConfigArguments& arguments);

}  // namespace titan::commands
