/// Carries out the section activation_checkpoint.
#pragma once

#include <string>

#include "config/config.h"
#include "model/module.h"

namespace titan::train {

/// Marks the blocks whose activations are computed again in backward. Call it once, after the
/// converters. Returns a line for the log: "mode selective (2): 1 of 2 blocks run their forward
/// again in backward".
std::string apply_activation_checkpoint(model::Module& root,
                                        const config::ActivationCheckpoint& options);

}  // namespace titan::train
