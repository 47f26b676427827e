/// Loads the plugins that a run uses, and no other.
#pragma once

#include <titan/host.h>

#include <string>
#include <vector>

#include "plugins/catalog.h"
#include "plugins/loader.h"

namespace titan::plugins {

/// Loads the plugin of each converter in `converters`, every file once, in the order of first use.
///
/// Plugins without a note are loaded only when a converter is found in no note, one after the other
/// in search order until it is found. Throws usage_error for a converter that nobody offers or that
/// two files offer; `built_in` names are left alone and suggested.
std::vector<LoadedPlugin> load_requested(const Catalog& catalog,
                                         const std::vector<std::string>& converters,
                                         const std::vector<std::string>& built_in,
                                         const titan_host& host);

}  // namespace titan::plugins
