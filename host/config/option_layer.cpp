#include "config/option_layer.h"

#include <algorithm>

#include "base/error.h"
#include "base/glob.h"
#include "base/suggest.h"
#include "base/text_list.h"
#include "config/converter_items.h"
#include "config/option_parser.h"

namespace titan::config {
namespace {

/// include and exclude, which every converter has without declaring them.
OptionSchema selector_schema(const std::string& name) {
  OptionSchema schema;
  schema.name = name;
  schema.is_list = true;
  schema.help = name == "include" ? "patterns of the modules to convert; none: all"
                                  : "patterns of the modules to leave alone";
  return schema;
}

void check_patterns(const OptionValue& value, const std::string& full_name,
                    const std::string& where) {
  for (const Scalar& item : value.items) {
    try {
      Glob::parse(std::get<std::string>(item));
    } catch (const Error& error) {
      throw usage_error(full_name + ": " + error.what(), where, error.hint());
    }
  }
}

Error unknown_option(const ConverterSchema& schema, const std::string& owner,
                     const std::string& key, const std::string& where) {
  if (key == "use" || key == "as")
    return usage_error(
        "'" + key + "' cannot stand here", where,
        "it belongs into an entry of model.converters: {use: " + schema.name + ", as: NAME}");
  std::vector<std::string> candidates, names;
  for (const OptionSchema& option : schema.options) {
    names.push_back(option.name);
    candidates.push_back(option.name);
    candidates.insert(candidates.end(), option.aliases.begin(), option.aliases.end());
  }
  for (const char* selector : {"include", "exclude", "filter_fqns"}) {
    names.push_back(selector);
    candidates.push_back(selector);
  }
  const std::string of =
      owner == schema.name ? "'" + owner + "'" : "'" + owner + "' (" + schema.name + ")";
  return usage_error(
      "converter " + of + " has no option '" + key + "'", where,
      did_you_mean(key, candidates) + "options of " + schema.name + ": " + joined(names));
}

}  // namespace

const OptionSchema* find_option(const ConverterSchema& schema, const std::string& key) {
  for (const OptionSchema& option : schema.options)
    if (option.name == key ||
        std::find(option.aliases.begin(), option.aliases.end(), key) != option.aliases.end())
      return &option;
  return nullptr;
}

std::string add_to_layer(OptionLayer& layer, const ConverterSchema& schema,
                         const std::string& owner, const std::string& key,
                         const std::string& key_where, const Node& node) {
  const std::string full_name = owner + "." + key;
  if (key == "include" || key == "exclude" || key == "filter_fqns") {
    const std::string name = key == "include" ? "include" : "exclude";
    const OptionValue value = parse_option(selector_schema(name), full_name, node);
    check_patterns(value, full_name, node.where);
    layer[name] = {value, node.where};
    return name;
  }
  const OptionSchema* option = find_option(schema, key);
  if (option == nullptr) throw unknown_option(schema, owner, key, key_where);
  layer[option->name] = {parse_option(*option, full_name, node), node.where};
  return option->name;
}

OptionLayer read_layer(const ConverterSchema& schema, const std::string& owner, const Node& map) {
  OptionLayer layer;
  std::map<std::string, size_t> seen;  // schema name → index of the key that set it
  for (size_t i = 0; i < map.items.size(); ++i) {
    const NodeKey& key = map.keys[i];
    const std::string name = add_to_layer(layer, schema, owner, key.text, key.where, map.items[i]);
    const auto [first, is_new] = seen.emplace(name, i);
    if (!is_new)
      throw usage_error("'" + map.keys[first->second].text + "' (at " +
                            map.keys[first->second].where + ") and '" + key.text +
                            "' are the same option of '" + owner + "'",
                        key.where, "remove one of the two");
  }
  return layer;
}

}  // namespace titan::config
