/// Pass 1 of the configuration: the built-in sections; what belongs to converters is kept as found.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "config/overrides.h"

namespace titan::config {

/// A top-level section that is not built in. It may belong to a converter.
struct ConverterSection {
  std::string name;
  std::string where;
  Node settings;  ///< a map
  bool operator==(const ConverterSection&) const = default;
};

struct LoadedConfig {
  Config values;
  std::string source;  ///< the file's path; empty without one
  /// Where a built-in key was set, by "section.key": "debug.yaml:12:3" or "--training.steps=5".
  /// Keys that are absent have their default.
  std::map<std::string, std::string> origins;
  std::vector<ConverterSection> converter_sections;
  std::vector<Override> converter_overrides;  ///< of targets that are not built in
};

/// Reads defaults, then the file, then the command line; the last of equal options wins. Throws a
/// usage error for everything that is wrong in a built-in section. Sections and options that are
/// not built in are left to resolve_converters(), which must be called even if
/// requested_converters() is empty: it refuses those that belong to no converter.
LoadedConfig load_config(const std::optional<std::filesystem::path>& file,
                         const std::vector<std::string>& overrides);

/// The same for the text of a file; places are "name:line:column".
LoadedConfig load_config_text(const std::string& text, const std::string& name,
                              const std::vector<std::string>& overrides);

/// The converters that model.converters uses, each once, in order: the plugins to look for.
std::vector<std::string> requested_converters(const LoadedConfig& config);

}  // namespace titan::config
