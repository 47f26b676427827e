/// `titan plugins has`: whether a plugin or converter can be used, and if not, why.
#pragma once

#include <optional>
#include <string>

#include "plugins/catalog.h"
#include "plugins/plugin_version.h"

namespace titan::plugins {

/// Empty if a loadable file is the plugin `name` or offers the converter `name`, and its version is at
/// least `at_least`; else one line that says what is there instead. A converter that several files
/// offer cannot be used either. Nothing is loaded: of a plugin without a note only its name is known.
std::string why_unavailable(const Catalog& catalog, const std::string& name,
                            const std::optional<PluginVersion>& at_least = std::nullopt);

}  // namespace titan::plugins
