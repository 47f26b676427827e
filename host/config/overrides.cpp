#include "config/overrides.h"

#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"
#include "config/fields.h"
#include "config/yaml_reader.h"

namespace titan::config {
namespace {

constexpr const char* kOverrideHint =
    "options of the config look like --section.key=value, for example --training.steps=100";

bool is_option(const std::string& argument) { return argument.rfind("--", 0) == 0; }

/// "did you mean '--optimizer.lr'? " for "--lr", or for a full name with a typing error.
std::string suggest_option(const std::string& name) {
  for (const Field& field : fields())
    if (same_name(field.option.name, name)) return "did you mean '--" + field.full_name() + "'? ";
  const auto found = nearest(name, all_full_names());
  return found ? "did you mean '--" + *found + "'? " : "";
}

}  // namespace

bool same_name(std::string_view a, std::string_view b) {
  const auto unified = [](char c) { return c == '-' ? '_' : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return unified(x) == unified(y); });
}

void refuse_value_of_negation(const Override& override) {
  if (override.has_value)
    throw usage_error("an option that switches a flag off takes no value", override.value.where,
                      "write either --section.flag=false or --no-section.flag");
}

std::vector<Override> parse_overrides(const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i)
    if (find_bad_byte(arguments[i]) != std::string::npos)
      throw usage_error("an argument holds a byte that is no text",
                        "command line, config argument " + std::to_string(i + 1), kOverrideHint);
  std::vector<Override> overrides;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!is_option(argument))
      throw usage_error("unexpected argument '" + argument + "'", "command line", kOverrideHint);
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(2, std::min(equals, argument.size()) - 2);
    const size_t dot = name.rfind('.');
    if (is_section(name))
      throw usage_error("'" + name + "' is a section of the config, not a key",
                        "command line: " + argument,
                        "set its keys one by one, for example --" + name + "." +
                            keys_of(name).front() + "=VALUE");
    if (dot == std::string::npos || dot == 0 || dot + 1 == name.size() ||
        name.find("..") != std::string::npos)
      throw usage_error("unknown option '--" + name + "'", "command line: " + argument,
                        suggest_option(name) + kOverrideHint);
    Override override;
    override.target = name.substr(0, dot);
    override.key = name.substr(dot + 1);
    std::replace(override.key.begin(), override.key.end(), '-', '_');
    override.value.kind = Node::Kind::kScalar;
    override.value.command_line = true;
    override.value.where = argument;
    override.value.text = "true";
    override.has_value = equals != std::string::npos;
    if (override.has_value) {
      override.value.text = argument.substr(equals + 1);
    } else if (i + 1 < arguments.size() && !is_option(arguments[i + 1])) {
      ++i;
      override.has_value = true;
      override.value.text = arguments[i];
      override.value.where += " " + arguments[i];
    }
    overrides.push_back(std::move(override));
  }
  return overrides;
}

}  // namespace titan::config
