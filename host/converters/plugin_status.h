/// Turns a status that a plugin's function returned into an error that names the plugin.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "converters/plugin_module.h"
#include "titan/status.h"

namespace titan::converters {

/// What a plugin is asked to do: "create", "forward" of module "layers.0.attention.wq".
struct PluginDoing {
  const char* function;                 ///< a literal
  const std::string* module = nullptr;  ///< null: not about one module; must outlive the call
  std::string text() const;
};

/// Calls `function` (which calls into the plugin), and throws if it returns non-zero or lets an
/// exception out, or comes back with other floating-point modes (which are put back).
/// `refusal`: statuses that blame configuration or device give exit status 2 instead of 6.
void call_plugin(const PluginOrigin& origin, const PluginDoing& doing, bool refusal,
                 const std::function<titan_status()>& function);

}  // namespace titan::converters
