/// Turns a status that a plugin's function returned into an error that names the plugin.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "converters/plugin_module.h"
#include "titan/status.h"

namespace titan::converters {

/// Calls `function` (which calls into the plugin), and throws if it returns non-zero or lets an
/// exception out. `doing` reads like "create", "forward of module 'layers.0.attention.wq'".
/// `refusal`: statuses that blame configuration or device give exit status 2 instead of 6.
void call_plugin(const PluginOrigin& origin, const std::string& doing, bool refusal,
                 const std::function<titan_status()>& function);

}  // namespace titan::converters
