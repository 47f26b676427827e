/// Finding rows of the table of built-in keys, and storing checked values through them.
#include <algorithm>

#include "config/fields.h"
#include "config/option_parser.h"

namespace titan::config {

const Field* find_field(std::string_view section, std::string_view key) {
  for (const Field& field : fields())
    if (field.section == section && field.option.name == key) return &field;
  return nullptr;
}

const std::vector<std::string>& section_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Field& field : fields())
      if (list.empty() || list.back() != field.section) list.push_back(field.section);
    return list;
  }();
  return names;
}

bool is_section(std::string_view name) {
  const auto& names = section_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> keys_of(std::string_view section) {
  std::vector<std::string> keys;
  for (const Field& field : fields())
    if (field.section == section) keys.push_back(field.option.name);
  const std::string prefix = std::string(section) + ".";
  for (const std::string& name : section_names())
    if (name.rfind(prefix, 0) == 0) keys.push_back(name.substr(prefix.size()));
  return keys;
}

std::vector<std::string> all_full_names() {
  std::vector<std::string> names;
  for (const Field& field : fields()) names.push_back(field.full_name());
  return names;
}

void set_field(Config& config, const Field& field, const Node& node) {
  const bool null = node.kind == Node::Kind::kNull ||
                    (node.command_line && (node.text == "null" || node.text == "none"));
  if (null && field.nullable) {
    field.set(config, std::nullopt);
    return;
  }
  field.set(config, parse_option(field.option, field.full_name(), node));
}

}  // namespace titan::config
