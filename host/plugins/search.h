/// Which files could be plugins: folders and files named by the config, the environment and the
/// installation, in that order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "plugins/rules.h"

namespace titan::plugins {

enum class Origin { kConfig, kEnvironment, kInstallation };
/// "plugins.paths", "TITAN_PLUGIN_PATH", "installation".
std::string origin_name(Origin origin);

struct SearchOptions {
  /// plugins.paths of the config: folders or files; a relative one counts from the working
  /// directory.
  std::vector<std::filesystem::path> paths;
  /// TITAN_PLUGIN_PATH; from_environment() fills it. Absolute folders or files between colons.
  std::optional<std::string> environment;
  /// The variable is set but must not be used: the program runs with raised privileges (AT_SECURE).
  bool environment_ignored = false;
  /// The folder that the installation brings along; empty: none. It may be missing.
  std::filesystem::path installation;

  /// Reads the variable, unless the program runs with raised privileges. The one place that does.
  SearchOptions& from_environment();
};

/// A file that may be a plugin. Nothing is known yet but its name.
struct Candidate {
  std::filesystem::path path;  ///< absolute
  Origin origin = Origin::kConfig;
  std::vector<std::filesystem::path>
      same_file;  ///< other names of the same inode, not searched again
};

/// Something about the search itself that the user should know.
struct SearchNotice {
  std::string where;  ///< "TITAN_PLUGIN_PATH", a folder
  std::string text;
  std::string hint;
  Rule rule = Rule::kTrust;
};

struct SearchResult {
  std::vector<Candidate> candidates;  ///< in search order; within a folder sorted by name
  std::vector<std::string> searched;  ///< "/opt/titan/plugins (installation)", for messages
  std::vector<SearchNotice> notices;
};

/// Lists folders one level deep: entries ending in ".so", whatever they are. Named files may have
/// any name. Throws usage_error for an empty entry in `paths`; everything else is a notice.
SearchResult search(const SearchOptions& options);

}  // namespace titan::plugins
