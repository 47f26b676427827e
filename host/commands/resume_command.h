/// The command line that goes on with a run that was stopped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"

namespace titan::commands {

/// What the user typed, with the variables of titan's environment in front and what would keep it
/// from resuming at `step` overridden behind.
std::string resume_command(const std::vector<std::string>& command_line,
                           const config::Config& config, int64_t step);

/// "step-5 was made with 'ema' (plugin stats 1.0.0, /opt/stats.so, sha256 ...)": where the
/// checkpoint that the run would resume from had the converter from; empty if that is not known.
std::string origin_in_checkpoint(const config::Config& config, const std::string& converter);

}  // namespace titan::commands
