/// Names and values of the config that a command line could go on with.
#pragma once

#include <string>
#include <vector>

#include "config/option_schema.h"

namespace titan::commands {

/// Converters that a command line would find, from their notes alone, and all keys of the config.
/// What is wrong with the line's config or with a plugin only makes it find less.
class FoundConverters {
 public:
  /// Heeds the config file and --plugins.paths of the line, TITAN_PLUGIN_PATH and the installation.
  explicit FoundConverters(const std::vector<std::string>& words);

  /// Plugins and converters, each name once.
  std::vector<std::string> plugin_names() const;
  /// "training.steps", "float8.recipe"
  std::vector<std::string> keys() const;
  /// What `titan config explain` takes: sections, converters and keys.
  std::vector<std::string> explained_names() const;
  /// Whole values of `option` ("--training.dtype") that begin as `typed` does; in a list the last
  /// item is completed. Empty where anything may follow.
  std::vector<std::string> values_of(const std::string& option, const std::string& typed) const;
  /// Whether the option may stand without a value.
  bool is_flag(const std::string& option) const;

 private:
  const config::OptionSchema* find_option_schema(const std::string& option) const;

  std::vector<config::ConverterSchema>
      converters_;  ///< by the names that options have: instances too
  std::vector<std::string> converter_names_;
  std::vector<std::string> plugin_names_;
};

}  // namespace titan::commands
