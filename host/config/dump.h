/// Prints the merged configuration as YAML that can be used as a config again.
#pragma once

#include <string>
#include <vector>

#include "config/load.h"
#include "config/option_schema.h"

namespace titan::config {

/// `requests` are the result of resolve_converters() and are written as full entries of
/// model.converters; sections of converters that are not applied are kept. With `origins`, every
/// line ends in a comment: "# debug.yaml:12:3", "# --training.steps=5" or "# default".
std::string dump_config(const LoadedConfig& config, const std::vector<ConverterRequest>& requests,
                        bool origins);

}  // namespace titan::config
