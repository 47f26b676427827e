/// Loads one judged plugin into this process, for good, and takes over what it registers.
#pragma once

#include <titan/host.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
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

/// Why a plugin could not be loaded (status 2): also which gate stopped it, and under which rule.
class LoadError : public Error {
 public:
  LoadError(const JudgedPlugin& judged, std::string reason, std::string hint, Rule rule, Gate gate);
  Gate gate() const { return gate_; }
  /// Without the rule's name.
  const std::string& reason() const { return reason_; }
  Rule rule() const { return rule_; }

 private:
  std::string reason_;
  Rule rule_;
  Gate gate_;
};

/// Runs the plugin's constructors and register_converters: all of its converters or none.
/// [main-thread]
///
/// The file is never unloaded: tensors may hold its code. Loading a file a second time gives the
/// first result without running anything. Throws LoadError if the verdict is not "loadable", the
/// file is not the one that was judged, or the plugin breaks the contract.
LoadedPlugin load_plugin(const JudgedPlugin& judged, const titan_host& host);

/// "plugin 'scale' (/opt/plugins/scale.so)": the `where` of errors about it.
std::string plugin_place(const JudgedPlugin& judged);

}  // namespace titan::plugins
