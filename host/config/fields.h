/// The table of built-in keys: one row a key drives reading, overrides, dump and explanation.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/option_schema.h"

namespace titan::config {

/// One built-in key.
struct Field {
  std::string section;         ///< "training"; "model.args" is a section inside a section
  OptionSchema option;         ///< name, type, default, limits, one-line help
  bool nullable = false;       ///< null is allowed and means "not given"
  bool is_converters = false;  ///< model.converters, whose items may be maps
  /// Nothing for null. For model.converters: the names of the items.
  std::function<std::optional<OptionValue>(const Config&)> get;
  std::function<void(Config&, const std::optional<OptionValue>&)> set;

  std::string full_name() const { return section + "." + option.name; }
};

/// All built-in keys, in the order of the documentation.
const std::vector<Field>& fields();

const Field* find_field(std::string_view section, std::string_view key);

/// "job", "model", "model.args", ...
const std::vector<std::string>& section_names();
bool is_section(std::string_view name);
/// The keys of one section, and "args" for the section inside "model".
std::vector<std::string> keys_of(std::string_view section);
/// "training.steps", ...
std::vector<std::string> all_full_names();

/// Checks `node` against the field and stores it.
void set_field(Config& config, const Field& field, const Node& node);

}  // namespace titan::config
