#include "config/explain.h"

#include "base/error.h"
#include "base/suggest.h"
#include "base/table.h"
#include "config/common_options.h"
#include "config/fields.h"
#include "config/option_layer.h"
#include "config/option_text.h"

namespace titan::config {
namespace {

std::string default_text(const OptionSchema& option, bool nullable) {
  if (option.default_value) return to_yaml(*option.default_value);
  return nullable ? "null" : "none: it must be given";
}

std::string explain_option(const std::string& full_name, const OptionSchema& option,
                           bool nullable) {
  std::string text = full_name + "\n  " + option.help + "\n";
  text += "  type:     " + describe_type(option) + (nullable ? ", or null" : "") + "\n";
  text += "  default:  " + default_text(option, nullable) + "\n";
  if (!option.aliases.empty()) {
    text += "  also:     ";
    for (size_t i = 0; i < option.aliases.size(); ++i)
      text += (i == 0 ? "" : ", ") + option.aliases[i];
    text += "\n";
  }
  const bool flag = option.type == OptionType::kBool && !option.is_list;
  return text + "  option:   --" + full_name +
         (flag ? ", --" + full_name + "=false" : std::string("=VALUE")) + "\n";
}

void add_row(Table& table, const std::string& full_name, const OptionSchema& option,
             bool nullable) {
  table.add_row({full_name, default_text(option, nullable), describe_type(option), option.help});
}

}  // namespace

std::string explain(std::string_view name, const std::vector<ConverterSchema>& schemas) {
  std::vector<std::string> names = section_names();
  Table table({"key", "default", "type", "meaning"});
  const std::string inner = std::string(name) + ".";  // begins the sections inside this one
  for (const Field& field : fields()) {
    const std::string full_name = field.full_name();
    if (full_name == name) return explain_option(full_name, field.option, field.nullable);
    names.push_back(full_name);
    if (name.empty() || field.section == name || field.section.rfind(inner, 0) == 0)
      add_row(table, full_name, field.option, field.nullable);
  }
  for (const ConverterSchema& schema : schemas) {
    names.push_back(schema.name);
    std::vector<OptionSchema> options = schema.options;
    options.insert(options.end(), common_options().begin(), common_options().end());
    for (const OptionSchema& option : options) {
      const std::string full_name = schema.name + "." + option.name;
      names.push_back(full_name);
      if (name.empty() || schema.name == name) add_row(table, full_name, option, false);
    }
    const std::string prefix = schema.name + ".";
    if (name.rfind(prefix, 0) != 0) continue;
    const std::string key(name.substr(prefix.size()));
    if (const OptionSchema* option = find_option(schema, key))
      return explain_option(prefix + option->name, *option, false);
    for (const OptionSchema& option : common_options())
      if (key == option.name || (!option.aliases.empty() && key == option.aliases.front()))
        return explain_option(prefix + option.name, option, false);
  }
  if (table.rows() == 0) {
    // A key in the wrong section: the same key elsewhere is likelier than a near name.
    const std::string_view last = name.substr(name.rfind('.') + 1);
    for (const Field& field : fields())
      if (field.option.name == last)
        throw usage_error(
            "there is no key '" + std::string(name) + "'", "config explain " + std::string(name),
            "did you mean '" + field.full_name() + "'? `titan config explain` lists all keys");
    throw usage_error("there is no key or section '" + std::string(name) + "'",
                      "config explain " + std::string(name),
                      did_you_mean(name, names) + "`titan config explain` lists all keys");
  }
  return table.render();
}

}  // namespace titan::config
