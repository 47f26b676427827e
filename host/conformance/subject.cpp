#include "conformance/subject.h"

#include "base/error.h"
#include "base/suggest.h"
#include "config/option_parser.h"
#include "config/option_text.h"

namespace titan::conformance {

std::map<std::string, config::OptionValue> Subject::options() const {
  std::map<std::string, config::OptionValue> options;
  for (const config::OptionSchema& option : converter.options) {
    if (const auto found = given.find(option.name); found != given.end())
      options[option.name] = found->second;
    else if (const auto claimed = claims.validate_with.find(option.name);
             claimed != claims.validate_with.end())
      options[option.name] = claimed->second;
    else if (option.default_value)
      options[option.name] = *option.default_value;
  }
  return options;
}

std::vector<std::string> Subject::missing_options() const {
  std::vector<std::string> missing;
  const auto known = options();
  for (const config::OptionSchema& option : converter.options)
    if (!known.count(option.name)) missing.push_back(option.name);
  return missing;
}

config::ConverterRequest Subject::request() const {
  config::ConverterRequest request;
  request.converter = request.instance = converter.name;
  request.options = options();
  return request;
}

std::string options_text(const std::map<std::string, config::OptionValue>& options) {
  std::string text;
  for (const auto& [name, value] : options)
    text += (text.empty() ? "" : ", ") + name + "=" + config::to_yaml(value);
  return text.empty() ? "no options" : text;
}

void add_given_option(
    const plugins::PluginDescription& plugin, const std::string& text,
    std::map<std::string, std::map<std::string, config::OptionValue>>& by_converter) {
  const std::string where = "--option " + text;
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw usage_error("'" + text + "' is not of the form NAME=VALUE", where,
                      "write --option emulate=true");
  const std::string name = text.substr(0, equals);
  config::Node node;
  node.kind = config::Node::Kind::kScalar;
  node.text = text.substr(equals + 1);
  node.command_line = true;
  node.where = where;
  bool found = false;
  std::vector<std::string> names;
  for (const config::ConverterSchema& converter : plugin.converters)
    for (const config::OptionSchema& option : converter.options) {
      names.push_back(option.name);
      if (option.name != name) continue;
      found = true;
      const std::string full_name = converter.name + "." + name;
      const config::OptionValue value = config::parse_option(option, full_name, node);
      config::check_limits(option, full_name, value, where);
      by_converter[converter.name][name] = value;
    }
  if (!found)
    throw usage_error(
        "no converter of the plugin has an option '" + name + "'", where,
        did_you_mean(name, names) + "titan plugins inspect FILE.so shows its options");
}

}  // namespace titan::conformance
