/// Options of a converter as data: what a plugin's note declares and what the config gives it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace titan::config {

using Scalar = std::variant<bool, int64_t, double, std::string>;

/// A value of an option: one item, or any number of them if `is_list`.
struct OptionValue {
  bool is_list = false;
  std::vector<Scalar> items;
  bool operator==(const OptionValue&) const = default;
};

enum class OptionType { kBool, kInt, kFloat, kString, kEnum, kPath };

/// One option of a converter, declared in the plugin's note.
struct OptionSchema {
  std::string name;
  OptionType type = OptionType::kString;
  bool is_list = false;
  std::optional<OptionValue> default_value;  ///< absent: the option is required
  std::optional<double> min, max;            ///< inclusive; int and float only
  std::vector<std::string> values;           ///< enum only
  std::string help;
  std::vector<std::string> aliases;  ///< older or familiar names
  bool above_min = false;            ///< min itself is not allowed
  bool below_max = false;            ///< max itself is not allowed
};

/// What the config needs to know about a converter it may apply.
struct ConverterSchema {
  std::string name;
  std::string summary;
  std::string origin;  ///< the file it comes from, or "built in"
  std::vector<OptionSchema> options;
  /// Narrowest type that it multiplies matrices in ("float8"); empty: that of the run.
  std::string matrix_type = {};
};

/// One entry of model.converters after defaults, sections and overrides have been merged.
struct ConverterRequest {
  std::string converter;  ///< what to apply
  std::string instance;   ///< its name in this run; equals `converter` unless `as` was given
  std::vector<std::string> include;  ///< globs over module names; empty: every module
  std::vector<std::string> exclude;
  std::map<std::string, OptionValue> options;  ///< every option of the schema, by its schema name
  /// Where each option, `include` and `exclude` was set: "debug.yaml:12:3", "--float8.recipe=x";
  /// what is absent has its default.
  std::map<std::string, std::string> origins;
};

}  // namespace titan::config
