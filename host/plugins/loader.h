/// Loads one judged plugin into this process, for good, and takes over what it registers.
#pragma once

#include <titan/host.h>

#include <filesystem>
#include <string>
#include <vector>

#include "plugins/judge.h"
#include "plugins/note.h"

namespace titan::plugins {

struct LoadedPlugin {
  /// From the note. Of a plugin without one: what it handed over, or only the converters' names.
  PluginDescription description;
  std::filesystem::path path;
  std::string sha256;  ///< of the whole file, 64 hexadecimal digits
  /// In the order of registration; functions and names are valid to process end.
  std::vector<titan_converter> converters;
};

/// Runs the plugin's constructors and register_converters: all of its converters or none.
/// [main-thread]
///
/// The file is never unloaded: tensors may hold its code. Loading a file a second time gives the
/// first result without running anything. Throws usage_error if the verdict is not "loadable", the
/// file is not the one that was judged, or the plugin breaks the contract.
LoadedPlugin load_plugin(const JudgedPlugin& judged, const titan_host& host);

/// "plugin 'scale' (/opt/plugins/scale.so)": the `where` of errors about it.
std::string plugin_place(const JudgedPlugin& judged);

}  // namespace titan::plugins
