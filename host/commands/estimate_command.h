/// `titan estimate`: memory and work of one training step of a config, before it is run.
#pragma once

#include <optional>
#include <string>

#include "commands/command.h"
#include "commands/plugin_setup.h"
#include "config/config.h"
#include "converters/device_facts.h"
#include "train/estimate_report.h"

namespace titan::commands {

/// What a report about this config says beside the estimate; the only candidate is the device
/// itself.
train::EstimateHeader estimate_header(const ConfigArguments& arguments,
                                      const config::Config& config,
                                      const converters::DeviceFacts& device,
                                      const AppliedConverters& applied);

/// Prints the estimate, and what other settings would take. `device` is a name for
/// assumed_device(); without it the estimate is for the device that training.device resolves to.
void estimate(const ConfigArguments& arguments, const std::optional<std::string>& device,
              bool json);

}  // namespace titan::commands
