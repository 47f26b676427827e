/// What run.json says of a run when it begins.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkpoint/manifest.h"
#include "config/config.h"
#include "config/option_schema.h"
#include "observe/run_file.h"
#include "train/trainer.h"

namespace titan::commands {

/// Without sessions and warnings. `plugins`: where each converter comes from, by its name. `peak`:
/// the line of the log about the peak behind mfu.
observe::RunFile describe_run(const train::Trainer& trainer, const config::Config& config,
                              const std::vector<config::ConverterRequest>& requests,
                              const std::map<std::string, checkpoint::ConverterRecord>& plugins,
                              const std::string& peak);

}  // namespace titan::commands
