/// A plugin's file, loaded for the check.
#pragma once

#include <string>

#include "converters/registry.h"

namespace titan::device_check {

/// The converters that the file registers. Loaded for good. Throws titan::Error if it cannot be
/// loaded or registers nothing.
///
/// Why not the plugins room, which judges a file before it runs any of it: that needs Boost and a
/// JSON library, and the file here was built a moment ago from the same sources. What the plugin is
/// given and what is made of its converters is titan's own (converters/host_table.cpp,
/// plugin_converter.cpp).
converters::Registry load_plugin_file(const std::string& path);

}  // namespace titan::device_check
