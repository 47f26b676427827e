/// `titan plugins has`: whether a plugin or converter can be used, and if not, why.
#pragma once

#include <titan/host.h>

#include <chrono>
#include <optional>
#include <string>

#include "plugins/catalog.h"
#include "plugins/plugin_version.h"

namespace titan::plugins {

/// The catalog with those loadable files that are or offer `name` probed (probe.h), and those whose
/// note does not tell. [main-thread] Forks.
Catalog with_called_probed(const Catalog& catalog, const std::string& name, const titan_host& host,
                           std::chrono::milliseconds limit);

/// Empty if a loadable file is the plugin `name` or offers the converter `name`, and its version is
/// at least `at_least`; else one line that says what is there instead. A converter that several
/// files offer cannot be used either. Loads nothing itself: what was not probed may still fail to
/// load.
std::string why_unavailable(const Catalog& catalog, const std::string& name,
                            const std::optional<PluginVersion>& at_least = std::nullopt);

}  // namespace titan::plugins
