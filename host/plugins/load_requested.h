/// Loads the plugins that a run uses, and no other.
#pragma once

#include <titan/host.h>

#include <chrono>
#include <string>
#include <vector>

#include "plugins/catalog.h"
#include "plugins/loader.h"
#include "plugins/probe.h"

namespace titan::plugins {

/// Loads the plugin of each converter in `converters`, every file once, in the order of first use.
///
/// Each is tried in a process of its own first, at most `limit`. Plugins without a note are tried
/// only when a converter is found in no note. Throws usage_error for a converter that nobody offers
/// or that two files offer, LoadError for a plugin that fails; `built_in` names are left alone and
/// suggested. [main-thread] See probe_plugin.
std::vector<LoadedPlugin> load_requested(const Catalog& catalog,
                                         const std::vector<std::string>& converters,
                                         const std::vector<std::string>& built_in,
                                         const titan_host& host,
                                         std::chrono::milliseconds limit = kLoadTimeout);

}  // namespace titan::plugins
