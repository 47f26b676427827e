#include "commands/completion_values.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/error.h"
#include "commands/completion_line.h"
#include "commands/model_setup.h"
#include "commands/plugin_setup.h"
#include "config/common_options.h"
#include "config/fields.h"
#include "config/load.h"
#include "config/option_layer.h"
#include "config/overrides.h"

namespace titan::commands {
namespace {

constexpr const char* kConverters = "model.converters";

bool begins_with(const std::string& text, const std::string& prefix) {
  return text.rfind(prefix, 0) == 0;
}

/// The line's config as far as it can be read: of its options only those that say where plugins
/// are.
config::LoadedConfig readable_config(const std::vector<std::string>& words) {
  std::optional<std::filesystem::path> file;
  std::vector<std::string> overrides;
  for (size_t i = 1; i + 1 < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    const bool next = equals == std::string::npos && i + 2 < words.size();
    const std::string value = equals != std::string::npos ? words[i].substr(equals + 1)
                              : next                      ? words[i + 1]
                                                          : "";
    if (name == "--config" || name == "--job.config_file")
      file = value;
    else if (begins_with(name, "--plugins.") && !value.empty())
      overrides.push_back(name + "=" + value);
    else if (is_config_file_name(words[i]) && words[i].front() != '-')
      file = words[i];
  }
  for (const auto& candidate : {file, std::optional<std::filesystem::path>()}) {
    try {
      return config::load_config(candidate, overrides);
    } catch (const Error&) {  // without the file, the options may still be good
    }
  }
  return config::load_config(std::nullopt, {});
}

/// Enum values may be any text: only what a shell takes as it is may come out.
bool is_plain_word(const std::string& text) {
  return !text.empty() && text.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "_.,:=/+@%-") == std::string::npos;
}

std::vector<std::string> values_of_schema(const config::OptionSchema& option) {
  if (option.type == config::OptionType::kBool) return {"true", "false"};
  std::vector<std::string> values;
  for (const std::string& value : option.values)
    if (is_plain_word(value)) values.push_back(value);
  return values;
}

/// "a,b," + each value that is not in the list yet.
std::vector<std::string> list_values(const std::vector<std::string>& values,
                                     const std::string& typed) {
  const std::string before = typed.substr(0, typed.find_last_of(",[") + 1);
  std::set<std::string> listed;
  std::string item;
  for (const char c : before)
    if (c == ',' || c == '[')
      listed.insert(std::exchange(item, {}));
    else
      item += c;
  std::vector<std::string> out;
  for (const std::string& value : values)
    if (listed.count(value) == 0) out.push_back(before + value);
  return out;
}

/// Of every model; each name once, though several models have a debugmodel.
std::vector<std::string> flavor_names() {
  std::vector<std::string> names;
  const model::TrainSpecRegistry specs = train_specs();
  for (const std::string& name : specs.names())
    for (const model::Flavor& flavor : specs.get(name).flavors)
      if (std::find(names.begin(), names.end(), flavor.name) == names.end())
        names.push_back(flavor.name);
  return names;
}

}  // namespace

FoundConverters::FoundConverters(const std::vector<std::string>& words) {
  const config::LoadedConfig config = readable_config(words);
  const plugins::Catalog catalog = find_plugins(&config);
  converters_ = catalog.schemas();
  std::set<std::string> seen;
  for (const plugins::CatalogEntry& entry : catalog.entries())
    if (entry.loadable() && seen.insert(entry.judged.description->name).second)
      plugin_names_.push_back(entry.judged.description->name);
  for (const config::ConverterSchema& converter : converters_) {
    converter_names_.push_back(converter.name);
    if (seen.insert(converter.name).second) plugin_names_.push_back(converter.name);
  }
  // Instances of the config file have the options of their converter.
  for (const config::ConverterItem& item : config.values.model.converters)
    for (const std::string& name : converter_names_)
      if (item.use == name && item.as != name) {
        converters_.push_back(converters_[static_cast<size_t>(&name - converter_names_.data())]);
        converters_.back().name = item.as;
      }
}

std::vector<std::string> FoundConverters::plugin_names() const { return plugin_names_; }

std::vector<std::string> FoundConverters::keys() const {
  std::vector<std::string> keys = config::all_full_names();
  for (const config::ConverterSchema& converter : converters_) {
    for (const config::OptionSchema& option : converter.options)
      keys.push_back(converter.name + "." + option.name);
    for (const config::OptionSchema& option : config::common_options())
      keys.push_back(converter.name + "." + option.name);
  }
  return keys;
}

std::vector<std::string> FoundConverters::explained_names() const {
  std::vector<std::string> names = config::section_names();
  names.insert(names.end(), converter_names_.begin(), converter_names_.end());
  for (std::string& key : keys()) names.push_back(std::move(key));
  return names;
}

const config::OptionSchema* FoundConverters::find_option_schema(const std::string& option) const {
  if (!begins_with(option, "--")) return nullptr;
  const std::string name = option.substr(2);
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos) return nullptr;
  const std::string section = name.substr(0, dot), key = name.substr(dot + 1);
  if (const config::Field* field = config::find_field(section, key)) return &field->option;
  for (const config::ConverterSchema& converter : converters_)
    if (config::same_name(converter.name, section)) return config::find_option(converter, key);
  return nullptr;
}

bool FoundConverters::is_flag(const std::string& option) const {
  const config::OptionSchema* schema = find_option_schema(option);
  return schema && schema->type == config::OptionType::kBool && !schema->is_list;
}

std::vector<std::string> FoundConverters::values_of(const std::string& option,
                                                    const std::string& typed) const {
  if (option == std::string("--") + kConverters) return list_values(converter_names_, typed);
  if (option == "--model.name") return train_specs().names();
  if (option == "--model.flavor") return flavor_names();
  const config::OptionSchema* schema = find_option_schema(option);
  if (!schema) return {};
  const std::vector<std::string> values = values_of_schema(*schema);
  return schema->is_list ? list_values(values, typed) : values;
}

}  // namespace titan::commands
