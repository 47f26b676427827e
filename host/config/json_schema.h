/// A JSON Schema of config files, for editors and other tools.
#pragma once

#include <string>
#include <vector>

#include "config/option_schema.h"

namespace titan::config {

/// JSON Schema (draft 2020-12) of a config file: the built-in sections from the table of keys, and
/// a section for each converter in `schemas`. Unknown keys are refused, as titan refuses them.
std::string json_schema(const std::vector<ConverterSchema>& schemas);

}  // namespace titan::config
