/// The documentation of keys and options, from the same tables that check them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/option_schema.h"

namespace titan::config {

/// Explains a key ("optimizer.lr", "float8.recipe"), a section or converter ("optimizer"), or
/// everything ("" ). `schemas` are the converters that were found. A usage error with the nearest
/// name if there is nothing of that name.
std::string explain(std::string_view name, const std::vector<ConverterSchema>& schemas);

}  // namespace titan::config
