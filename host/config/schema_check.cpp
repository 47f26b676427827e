#include "config/schema_check.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "config/converter_items.h"
#include "config/option_parser.h"

namespace titan::config {
namespace {

/// Reports defects of one schema; every message names the converter, the option and the origin.
class SchemaCheck {
 public:
  explicit SchemaCheck(const ConverterSchema& schema) : schema_(schema) {}

  void check() {
    if (const std::string problem = problem_of_name(schema_.name); !problem.empty())
      throw defect("the converter name '" + schema_.name + "' " + problem);
    for (const OptionSchema& option : schema_.options) {
      check_name(option.name);
      for (const std::string& alias : option.aliases) check_name(alias);
      check_allowed_values(option);
      check_default(option);
    }
  }

 private:
  Error defect(const std::string& text) const {
    return usage_error("converter '" + schema_.name + "': " + text, schema_.origin,
                       "the plugin's author has to correct its option schema");
  }

  void check_name(const std::string& name) {
    const bool well_formed = !name.empty() && name.size() <= 64 && name[0] >= 'a' &&
                             name[0] <= 'z' && std::all_of(name.begin(), name.end(), [](char c) {
                               return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
                             });
    if (!well_formed)
      throw defect("'" + name +
                   "' is no option name (a small letter, then small letters, digits "
                   "and '_'; at most 64)");
    if (is_reserved_key(name)) throw defect("the option name '" + name + "' is reserved");
    if (!names_.insert(name).second)
      throw defect("the option name or alias '" + name + "' is declared twice");
  }

  void check_allowed_values(const OptionSchema& option) const {
    const bool number = option.type == OptionType::kInt || option.type == OptionType::kFloat;
    if (!number && (option.min || option.max))
      throw defect("option '" + option.name + "' has a range but is no number");
    for (const std::optional<double>& limit : {option.min, option.max})
      if (limit && !std::isfinite(*limit))
        throw defect("option '" + option.name + "' has a limit that is not finite");
    if (option.min && option.max &&
        (*option.min > *option.max ||
         (*option.min == *option.max && (option.above_min || option.below_max))))
      throw defect("option '" + option.name + "' has an empty range");
    const bool is_enum = option.type == OptionType::kEnum;
    if (is_enum == option.values.empty())
      throw defect("option '" + option.name +
                   (is_enum ? "' is an enum without values" : "' has values but is no enum"));
    if (std::set<std::string>(option.values.begin(), option.values.end()).size() !=
        option.values.size())
      throw defect("option '" + option.name + "' lists a value twice");
  }

  static bool has_type(const Scalar& item, OptionType type) {
    switch (type) {
      case OptionType::kBool: return std::holds_alternative<bool>(item);
      case OptionType::kInt: return std::holds_alternative<int64_t>(item);
      case OptionType::kFloat:
        return std::holds_alternative<double>(item) && std::isfinite(std::get<double>(item));
      case OptionType::kString:
      case OptionType::kPath:
      case OptionType::kEnum: break;
    }
    return std::holds_alternative<std::string>(item);
  }

  void check_default(const OptionSchema& option) const {
    if (!option.default_value) return;
    const OptionValue& value = *option.default_value;
    if (value.is_list != option.is_list || (!value.is_list && value.items.size() != 1))
      throw defect("the default of option '" + option.name + "' is " +
                   (value.is_list ? "a list" : "one value") + ", unlike the option");
    for (const Scalar& item : value.items)
      if (!has_type(item, option.type))
        throw defect("the default of option '" + option.name + "' has another type");
    check_limits(option, "the default of " + schema_.name + "." + option.name, value,
                 schema_.origin);
  }

  const ConverterSchema& schema_;
  std::set<std::string> names_;
};

}  // namespace

void validate_schema(const ConverterSchema& schema) { SchemaCheck(schema).check(); }

}  // namespace titan::config
