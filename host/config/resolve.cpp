#include "config/resolve.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/suggest.h"
#include "config/familiar_keys.h"
#include "config/fields.h"
#include "config/option_layer.h"
#include "config/option_text.h"

namespace titan::config {
namespace {

/// Everything that is read before entries are merged; built once, then only looked up.
class ConverterResolver {
 public:
  ConverterResolver(const LoadedConfig& config, const std::vector<ConverterSchema>& schemas)
      : config_(config), items_(config.values.model.converters), schemas_(schemas) {}

  std::vector<ConverterRequest> resolve() {
    check_items();
    read_sections();
    read_overrides();
    std::vector<ConverterRequest> requests;
    for (const ConverterItem& item : items_) requests.push_back(merge(item));
    return requests;
  }

 private:
  const ConverterSchema* find_schema(const std::string& name) const {
    for (const ConverterSchema& schema : schemas_)
      if (schema.name == name) return &schema;
    return nullptr;
  }

  std::vector<std::string> schema_names() const {
    std::vector<std::string> names;
    for (const ConverterSchema& schema : schemas_) names.push_back(schema.name);
    return names;
  }

  std::string available() const {
    std::string list;
    for (const ConverterSchema& schema : schemas_)
      list += (list.empty() ? "" : ", ") + schema.name + " (" + schema.origin + ")";
    return list.empty() ? "no converter was found" : "available: " + list;
  }

  static std::string sections() {
    std::string list;
    for (const std::string& name : section_names()) list += (list.empty() ? "" : ", ") + name;
    return "sections: " + list + "; converters ";
  }

  void check_items() const {
    for (const ConverterItem& item : items_) {
      if (find_schema(item.use) == nullptr)
        throw usage_error("no converter is named '" + item.use + "'", item.where,
                          did_you_mean(item.use, schema_names()) + available());
      if (item.as != item.use && find_schema(item.as) != nullptr)
        throw usage_error("an entry that uses '" + item.use + "' is named '" + item.as +
                              "', which is another converter",
                          item.where, "choose a name that no converter has");
    }
  }

  void read_sections() {
    for (const ConverterSection& section : config_.converter_sections) {
      const ConverterSchema* schema = find_schema(section.name);
      if (schema == nullptr) throw unknown_section(section);
      section_layers_[section.name] = read_layer(*schema, section.name, section.settings);
    }
  }

  Error unknown_section(const ConverterSection& section) const {
    for (const ConverterItem& item : items_)
      if (item.as == section.name)
        return usage_error("section '" + section.name + "' names an entry of model.converters",
                           section.where,
                           "a section holds defaults of a converter (" + item.use +
                               "); options of one entry belong into the entry, at " + item.where);
    std::vector<std::string> names = section_names();
    for (const std::string& name : schema_names()) names.push_back(name);
    return usage_error("section '" + section.name +
                           "' is neither built in nor the name of a converter that was found",
                       section.where,
                       advice_for_familiar_key(section.name + ".") +
                           did_you_mean(section.name, names) +
                           "remove it, or install the plugin it belongs to; " + available());
  }

  /// The schema behind the name of an applied entry or converter; null if it is neither.
  const ConverterSchema* applied_schema(const std::string& target) const {
    for (const ConverterItem& item : items_)
      if (same_name(item.as, target) || same_name(item.use, target)) return find_schema(item.use);
    return nullptr;
  }

  void read_overrides() {
    const auto is_flag = [this](const std::string& target, const std::string& key) {
      const ConverterSchema* schema = applied_schema(target);
      const OptionSchema* option = schema == nullptr ? nullptr : find_option(*schema, key);
      return option != nullptr && option->type == OptionType::kBool && !option->is_list;
    };
    for (Override override : config_.converter_overrides) {
      const ConverterSchema* schema = applied_schema(override.target);
      if (schema == nullptr || find_option(*schema, override.key) == nullptr) {
        if (undo_negation(override, is_flag)) schema = applied_schema(override.target);
      }
      if (schema == nullptr) throw unknown_target(override);
      if (!override.has_value && override.value.text == "true" &&
          !is_flag(override.target, override.key) && is_known(*schema, override.key))
        throw usage_error("'" + override.value.where + "' needs a value", override.value.where,
                          "write --" + override.target + "." + override.key + "=VALUE");
      for (const std::string& name : targets_of(override.target))
        add_to_layer(override_layers_[name], *schema, override.target, override.key,
                     override.value.where, override.value);
    }
  }

  static bool is_known(const ConverterSchema& schema, const std::string& key) {
    return find_option(schema, key) != nullptr || key == "include" || key == "exclude" ||
           key == "filter_fqns";
  }

  /// The entries' and converters' names, as written in the config, that an option addresses.
  std::vector<std::string> targets_of(const std::string& target) const {
    std::vector<std::string> names;
    for (const ConverterItem& item : items_)
      for (const std::string* name : {&item.as, &item.use})
        if (same_name(*name, target)) names.push_back(*name);
    return names;
  }

  Error unknown_target(const Override& override) const {
    const std::string option = "--" + override.target + "." + override.key;
    for (const ConverterSchema& schema : schemas_)
      if (same_name(schema.name, override.target))
        return usage_error(
            "'" + option + "' has no effect: converter '" + schema.name + "' is not applied",
            override.value.where,
            "add it to the list, --model.converters=" + schema.name + ", or remove the option");
    std::vector<std::string> names = section_names();
    for (const std::string& name : schema_names()) names.push_back(name);
    for (const ConverterItem& item : items_) names.push_back(item.as);
    return usage_error(
        "unknown option '" + option + "': there is no section '" + override.target + "'",
        override.value.where,
        advice_for_familiar_key(override.target + "." + override.key) +
            advice_for_familiar_key(override.target + ".") + did_you_mean(override.target, names) +
            sections() + available());
  }

  ConverterRequest merge(const ConverterItem& item) const {
    const ConverterSchema& schema = *find_schema(item.use);
    // From the weakest to the strongest; a later layer replaces whole values.
    OptionLayer merged;
    const auto overlay = [&merged](const OptionLayer& layer) {
      for (const auto& [name, value] : layer) merged[name] = value;
    };
    if (const auto found = section_layers_.find(item.use); found != section_layers_.end())
      overlay(found->second);
    overlay(read_layer(schema, item.as, item.settings));
    for (const std::string& name : {item.use, item.as})
      if (const auto found = override_layers_.find(name); found != override_layers_.end())
        overlay(found->second);

    ConverterRequest request;
    request.converter = item.use;
    request.instance = item.as;
    for (auto& [name, entry] : merged) {
      request.origins[name] = entry.where;
      if (name == "include" || name == "exclude") {
        auto& patterns = name == "include" ? request.include : request.exclude;
        for (const Scalar& text : entry.value.items)
          patterns.push_back(std::get<std::string>(text));
      } else {
        request.options[name] = std::move(entry.value);
      }
    }
    add_defaults(schema, item, request);
    return request;
  }

  static void add_defaults(const ConverterSchema& schema, const ConverterItem& item,
                           ConverterRequest& request) {
    for (const OptionSchema& option : schema.options) {
      if (request.options.count(option.name) != 0) continue;
      if (!option.default_value)
        throw usage_error(
            "converter '" + item.as + "' needs the option '" + option.name + "'", item.where,
            "set it with --" + item.as + "." + option.name + "=VALUE; " + describe_option(option));
      request.options[option.name] = *option.default_value;
    }
  }

  const LoadedConfig& config_;
  const std::vector<ConverterItem>& items_;
  const std::vector<ConverterSchema>& schemas_;
  std::map<std::string, OptionLayer> section_layers_;   ///< by converter
  std::map<std::string, OptionLayer> override_layers_;  ///< by the name of an entry or converter
};

}  // namespace

std::vector<ConverterRequest> resolve_converters(const LoadedConfig& config,
                                                 const std::vector<ConverterSchema>& schemas) {
  return ConverterResolver(config, schemas).resolve();
}

}  // namespace titan::config
