#include "config/load.h"

#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"
#include "config/converter_items.h"
#include "config/cross_check.h"
#include "config/familiar_keys.h"
#include "config/fields.h"
#include "config/yaml_reader.h"

namespace titan::config {
namespace {

std::string list_of_keys(const std::string& section) {
  std::string text;
  for (const std::string& key : keys_of(section)) text += (text.empty() ? "" : ", ") + key;
  return "keys of " + section + ": " + text;
}

/// "training.steps: 3" at the top level is meant to be nested.
std::string nested_form(const std::string& name, const Node& value) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos || !find_field(name.substr(0, dot), name.substr(dot + 1))) return "";
  return "write '" + name.substr(0, dot) + ":' and below it, indented, '" + name.substr(dot + 1) +
         ": " + value.text + "'; ";
}

Error unknown_key(const std::string& section, const std::string& key, const std::string& where) {
  if (is_section(section + "." + key))
    return usage_error("'" + section + "." + key + "' is a section, not a key", where,
                       "set its keys one by one: --" + section + "." + key + "." +
                           keys_of(section + "." + key).front() + "=VALUE; " +
                           list_of_keys(section + "." + key));
  return usage_error("unknown key '" + key + "' in section '" + section + "'", where,
                     advice_for_familiar_key(section + "." + key) +
                         did_you_mean(key, keys_of(section)) + list_of_keys(section));
}

void set_key(LoadedConfig& config, const Field& field, const Node& node) {
  if (field.is_converters)
    config.values.model.converters = parse_converter_items(node);
  else
    set_field(config.values, field, node);
  config.origins[field.full_name()] = node.where;
}

/// An empty section, all of whose keys are commented out, is a null.
void require_map(const Node& node, const std::string& what) {
  if (node.kind != Node::Kind::kMap && node.kind != Node::Kind::kNull)
    throw usage_error(what + " must be a map, found " + node.describe(), node.where,
                      "write its keys below it, indented by two spaces");
}

void read_section(LoadedConfig& config, const std::string& section, const Node& node) {
  require_map(node, "section '" + section + "'");
  for (size_t i = 0; i < node.items.size(); ++i) {
    const std::string& key = node.keys[i].text;
    if (const Field* field = find_field(section, key))
      set_key(config, *field, node.items[i]);
    else if (const std::string inner = section + "." + key; is_section(inner))
      read_section(config, inner, node.items[i]);
    else
      throw unknown_key(section, key, node.keys[i].where);
  }
}

void read_text(LoadedConfig& config, const std::string& text, const std::string& name) {
  config.source = name;
  const Node root = read_yaml(text, name);
  if (root.kind == Node::Kind::kNull)
    throw usage_error("the config file is empty", config.source,
                      "start from one of the shipped examples in the folder configs/");
  require_map(root, "the config");
  for (size_t i = 0; i < root.items.size(); ++i) {
    const NodeKey& key = root.keys[i];
    if (is_section(key.text) && key.text.find('.') == std::string::npos) {
      read_section(config, key.text, root.items[i]);
      continue;
    }
    if (is_section(key.text))
      throw usage_error("section '" + key.text + "' must be nested", key.where,
                        "write '" + key.text.substr(key.text.find('.') + 1) + ":' inside '" +
                            key.text.substr(0, key.text.find('.')) + "'");
    if (const Node::Kind kind = root.items[i].kind;
        kind != Node::Kind::kMap && kind != Node::Kind::kNull)
      throw usage_error("'" + key.text + "' is no section", key.where,
                        nested_form(key.text, root.items[i]) +
                            did_you_mean(key.text, section_names()) +
                            "the top level of a config holds sections, each a map of keys");
    config.converter_sections.push_back({key.text, key.where, root.items[i]});
  }
}

/// The built-in section an override names, '-' and '_' being the same; empty if there is none.
std::string section_of(const std::string& target) {
  for (const std::string& section : section_names())
    if (same_name(section, target)) return section;
  return "";
}

bool is_flag_field(const std::string& target, const std::string& key) {
  const Field* field = find_field(section_of(target), key);
  return field != nullptr && field->option.type == OptionType::kBool;
}

bool is_any_field(const std::string& target, const std::string& key) {
  return find_field(section_of(target), key) != nullptr;
}

void apply_override(LoadedConfig& config, Override override) {
  if (find_field(section_of(override.target), override.key) == nullptr)
    undo_negation(override, is_flag_field);
  const std::string section = section_of(override.target);
  if (section.empty() && undo_negation(override, is_any_field)) {
    const std::string name = section_of(override.target) + "." + override.key;
    throw usage_error(name + " is no flag that could be switched off", override.value.where,
                      "write --" + name + "=VALUE");
  }
  if (section.empty()) {
    config.converter_overrides.push_back(std::move(override));
    return;
  }
  const Field* field = find_field(section, override.key);
  if (field == nullptr) throw unknown_key(section, override.key, override.value.where);
  if (!override.has_value && field->option.type != OptionType::kBool)
    throw usage_error("'" + override.value.where + "' needs a value", override.value.where,
                      "write --" + field->full_name() + "=VALUE");
  set_key(config, *field, override.value);
}

void apply_overrides(LoadedConfig& config, const std::vector<std::string>& overrides) {
  for (Override& override : parse_overrides(overrides)) apply_override(config, std::move(override));
  check_across_keys(config);
}

}  // namespace

LoadedConfig load_config(const std::optional<std::filesystem::path>& file,
                         const std::vector<std::string>& overrides) {
  LoadedConfig config;
  if (file) read_text(config, read_config_file(*file), file->string());
  apply_overrides(config, overrides);
  return config;
}

LoadedConfig load_config_text(const std::string& text, const std::string& name,
                              const std::vector<std::string>& overrides) {
  LoadedConfig config;
  read_text(config, text, name);
  apply_overrides(config, overrides);
  return config;
}

std::vector<std::string> requested_converters(const LoadedConfig& config) {
  std::vector<std::string> names;
  for (const ConverterItem& item : config.values.model.converters)
    if (std::find(names.begin(), names.end(), item.use) == names.end()) names.push_back(item.use);
  return names;
}

}  // namespace titan::config
