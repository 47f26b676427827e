/// Command-line overrides: "--section.key=value" and its other spellings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"

namespace titan::config {

/// One override, split at the last dot of its name; not yet matched with a key.
struct Override {
  std::string target;  ///< section, converter or instance: "optimizer", "model.args", "float8"
  std::string key;
  bool has_value = false;  ///< false: "--section.flag"
  Node value;              ///< "true" if there was none
  bool operator==(const Override&) const = default;
};

/// Reads "--a.b=v", "--a.b v" and "--a.b". In names '-' and '_' are the same; they are kept as
/// written in `target` (a converter's name may have either) and turned to '_' in `key`.
std::vector<Override> parse_overrides(const std::vector<std::string>& arguments);

/// True if the names are equal when '-' and '_' count as the same.
bool same_name(std::string_view a, std::string_view b);

/// If the override switches off a flag, "--no-a.b" or "--a.no_b", and `is_flag` says that this
/// target has such a flag: turns it into "--a.b=false" and returns true.
template <typename IsFlag>
bool undo_negation(Override& override, const IsFlag& is_flag);

/// A usage error if a negated flag has a value too ("--no-a.b=true").
void refuse_value_of_negation(const Override& override);

template <typename IsFlag>
bool undo_negation(Override& override, const IsFlag& is_flag) {
  std::string target = override.target, key = override.key;
  if (key.rfind("no_", 0) == 0)
    key.erase(0, 3);
  else if (target.rfind("no-", 0) == 0 || target.rfind("no_", 0) == 0)
    target.erase(0, 3);
  else
    return false;
  if (!is_flag(target, key)) return false;
  refuse_value_of_negation(override);
  override.target = target;
  override.key = key;
  override.value.text = "false";
  return true;
}

}  // namespace titan::config
