/// Options that every converter takes beside its own.
#pragma once

#include <vector>

#include "config/option_schema.h"

namespace titan::config {

/// include, and exclude with its other name filter_fqns.
const std::vector<OptionSchema>& common_options();

}  // namespace titan::config
