/// A converter that a plugin registered, adapted to the host's interface.
#pragma once

#include <string>

#include "converters/model_converter.h"
#include "converters/plugin_module.h"
#include "converters/registry.h"
#include "plugins/loader.h"
#include "titan/host.h"

namespace titan::converters {

/// A factory for the converter described by `table` (copied; its functions live to process end).
ConverterFactory plugin_converter_factory(const std::string& plugin, const std::string& path,
                                          const titan_converter& table);

/// Adds every converter of a loaded plugin, with the schema that its note gives.
void register_plugin(Registry& registry, const plugins::LoadedPlugin& plugin);

/// The table that is handed to register_converters(); valid to process end.
const titan_host& host_table();

}  // namespace titan::converters
