/// Option schemas and the typed JSON access of note_json.h.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/printable.h"
#include "base/suggest.h"
#include "base/text_list.h"
#include "plugins/note_json.h"
#include "plugins/plugin_name.h"

namespace titan::plugins {
namespace {

using config::OptionSchema;
using config::OptionType;
using config::OptionValue;
using config::Scalar;

constexpr size_t kMaxListItems = 1024;
constexpr std::array<std::string_view, 4> kReservedOptions = {"use", "as", "include", "exclude"};

struct TypeName {
  std::string_view text;
  OptionType type;
};
constexpr std::array<TypeName, 6> kTypes = {{{"bool", OptionType::kBool},
                                             {"int", OptionType::kInt},
                                             {"float", OptionType::kFloat},
                                             {"string", OptionType::kString},
                                             {"enum", OptionType::kEnum},
                                             {"path", OptionType::kPath}}};

/// "int", "list[int]".
void parse_type(const NoteValue& value, OptionSchema& out) {
  const std::string& text = value.text();
  std::string_view item = text;
  if (item.starts_with("list[") && item.ends_with("]")) {
    out.is_list = true;
    item = item.substr(5, item.size() - 6);
  }
  for (const TypeName& known : kTypes)
    if (item == known.text) {
      out.type = known.type;
      return;
    }
  value.fail("\"" + printable(text, 80) + "\" is not an option type",
             "use bool, int, float, string, enum, path, or a list such as list[string]",
             Rule::kOptions);
}

/// Names of options: dots would be ambiguous on the command line (--float8.recipe).
std::string parse_option_name(const NoteValue& value) {
  const std::string& name = value.text();
  if (!valid_name(name) || name.find('.') != std::string::npos)
    value.fail("\"" + printable(name, 80) + "\" is not a valid option name",
               "use a lower-case letter followed by at most 63 of a-z 0-9 _ -", Rule::kNames);
  if (std::find(kReservedOptions.begin(), kReservedOptions.end(), name) != kReservedOptions.end())
    value.fail("the option name \"" + name + "\" is reserved",
               "use, as, include and exclude belong to titan; choose another name", Rule::kNames);
  return name;
}

double parse_bound(const NoteValue& value, const OptionSchema& option) {
  if (option.type == OptionType::kInt) return static_cast<double>(value.integer());
  if (!value.json.is_number() || !std::isfinite(value.json.get<double>()))
    value.fail("must be a number", {}, Rule::kOptions);
  return value.json.get<double>();
}

void check_range(const NoteValue& value, const OptionSchema& option, double number) {
  const auto text = [](double bound) { return NoteJson(bound).dump(); };
  if ((option.min && number < *option.min) || (option.max && number > *option.max))
    value.fail("the value " + value.json.dump() + " is outside the option's own range " +
                   (option.min ? text(*option.min) : "-inf") + " to " +
                   (option.max ? text(*option.max) : "inf"),
               "change the value or the range", Rule::kOptions);
}

Scalar parse_scalar(const NoteValue& value, const OptionSchema& option) {
  switch (option.type) {
    case OptionType::kBool:
      if (!value.json.is_boolean()) value.fail("must be true or false", {}, Rule::kOptions);
      return value.json.get<bool>();
    case OptionType::kInt: {
      const int64_t number = value.integer();
      check_range(value, option, static_cast<double>(number));
      return number;
    }
    case OptionType::kFloat: {
      if (!value.json.is_number()) value.fail("must be a number", {}, Rule::kOptions);
      const double number = value.json.get<double>();
      if (!std::isfinite(number)) value.fail("must be a finite number", {}, Rule::kOptions);
      check_range(value, option, number);
      return number;
    }
    case OptionType::kEnum: {
      const std::string& text = value.text();
      if (std::find(option.values.begin(), option.values.end(), text) == option.values.end())
        value.fail("\"" + printable(text, 80) + "\" is not among \"values\"",
                   "add it or choose another", Rule::kOptions);
      return text;
    }
    case OptionType::kString:
    case OptionType::kPath: return value.text();
  }
  return std::string();
}

void parse_values(const NoteValue& option, OptionSchema& out) {
  if (out.type != OptionType::kEnum) {
    if (option.has("values"))
      option.member("values").fail("only options of type enum have values", "make the type enum",
                                   Rule::kOptions);
    return;
  }
  const NoteValue values = option.member("values");
  values.need_array(kMaxListItems);
  if (values.json.empty()) values.fail("an enum needs at least one value", {}, Rule::kOptions);
  for (size_t i = 0; i < values.json.size(); ++i) {
    std::string text = values.item(i).line(256);
    if (text.empty()) values.item(i).fail("a value must not be empty", {}, Rule::kOptions);
    if (std::find(out.values.begin(), out.values.end(), text) != out.values.end())
      values.item(i).fail("\"" + text + "\" is listed twice", "keep one", Rule::kOptions);
    out.values.push_back(std::move(text));
  }
}

void parse_bounds(const NoteValue& option, OptionSchema& out) {
  const bool numeric = out.type == OptionType::kInt || out.type == OptionType::kFloat;
  for (const char* key : {"min", "max"})
    if (option.has(key) && !numeric)
      option.member(key).fail("only options of type int and float have a range", {},
                              Rule::kOptions);
  if (option.has("min")) out.min = parse_bound(option.member("min"), out);
  if (option.has("max")) out.max = parse_bound(option.member("max"), out);
  if (out.min && out.max && *out.min > *out.max)
    option.member("min").fail("min is larger than max", "swap them", Rule::kOptions);
}

}  // namespace

OptionValue parse_option_value(const NoteValue& value, const OptionSchema& option) {
  OptionValue out;
  out.is_list = option.is_list;
  if (!option.is_list) {
    out.items.push_back(parse_scalar(value, option));
    return out;
  }
  value.need_array(kMaxListItems);
  for (size_t i = 0; i < value.json.size(); ++i)
    out.items.push_back(parse_scalar(value.item(i), option));
  return out;
}

OptionSchema parse_option(const NoteValue& option, bool strict) {
  option.need_object();
  if (strict)
    option.only_members({"name", "type", "default", "min", "max", "values", "help", "aliases"});
  OptionSchema out;
  out.name = parse_option_name(option.member("name"));
  parse_type(option.member("type"), out);
  parse_values(option, out);
  parse_bounds(option, out);
  if (option.has("default") && !option.member("default").json.is_null())
    out.default_value = parse_option_value(option.member("default"), out);
  if (option.has("help")) out.help = option.member("help").line(1024);
  if (option.has("aliases")) {
    const NoteValue aliases = option.member("aliases");
    aliases.need_array(16);
    for (size_t i = 0; i < aliases.json.size(); ++i)
      out.aliases.push_back(parse_option_name(aliases.item(i)));
  }
  return out;
}

NoteValue NoteValue::member(const std::string& key) const {
  const auto found = json.find(key);
  if (found == json.end())
    fail("the member \"" + key + "\" is missing", "add it to the plugin's metadata");
  return {*found, path.empty() ? key : path + "." + key};
}

NoteValue NoteValue::item(size_t index) const {
  return {json[index], path + "[" + std::to_string(index) + "]"};
}

void NoteValue::fail(const std::string& text, const std::string& hint, Rule rule) const {
  throw NoteProblem{path.empty() ? text : path + ": " + text,
                    hint.empty() ? "correct the plugin's metadata and build it again" : hint, rule};
}

const std::string& NoteValue::text() const {
  if (!json.is_string()) fail(std::string("must be a string, not ") + json.type_name());
  const auto& value = json.get_ref<const std::string&>();
  if (value.find('\0') != std::string::npos) fail("holds a NUL character");
  return value;
}

std::string NoteValue::line(size_t max) const {
  const std::string& value = text();
  if (value.size() > max) fail("has more than " + std::to_string(max) + " bytes");
  for (const char c : value)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      fail("holds a control character or a line break");
  return value;
}

int64_t NoteValue::integer() const {
  if (!json.is_number_integer()) fail("must be a whole number");
  if (json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
    fail("is too large");
  return json.get<int64_t>();
}

void NoteValue::need_object() const {
  if (!json.is_object()) fail(std::string("must be an object, not ") + json.type_name());
}

void NoteValue::need_array(size_t max_items) const {
  if (!json.is_array()) fail(std::string("must be a list, not ") + json.type_name());
  if (json.size() > max_items) fail("has more than " + std::to_string(max_items) + " items");
}

void NoteValue::only_members(std::initializer_list<std::string_view> known) const {
  for (const auto& [key, value] : json.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::vector<std::string> names(known.begin(), known.end());
    fail("unknown member \"" + printable(key, 80) + "\"",
         did_you_mean(key, names) + "known members are " + joined(names));
  }
}

}  // namespace titan::plugins
