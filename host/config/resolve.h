/// Pass 2 of the configuration: what model.converters applies, with every option typed and merged.
#pragma once

#include <string>
#include <vector>

#include "config/load.h"
#include "config/option_schema.h"

namespace titan::config {

/// One request for each entry of model.converters, in order. An option's value comes from the
/// first of: the command line under the instance's name, the command line under the converter's
/// name, the entry, the converter's section, the schema's default.
///
/// `schemas` are those of all converters that were found. A usage error is thrown for a converter
/// that is none of them, for sections and options that belong to none, and for every value that a
/// schema does not allow, even one that another place overrides.
std::vector<ConverterRequest> resolve_converters(const LoadedConfig& config,
                                                 const std::vector<ConverterSchema>& schemas);

}  // namespace titan::config
