/// Rules that hold between keys; what one key alone allows is in the table of keys.
#pragma once

#include "config/load.h"

namespace titan::config {

/// Throws a usage error that names both keys, and the place where the later one was set.
void check_across_keys(const LoadedConfig& config);

}  // namespace titan::config
