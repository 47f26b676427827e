#include "config/option_text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <vector>

#include "base/numbers.h"
#include "base/text_list.h"

namespace titan::config {
namespace {

std::string limit_text(const OptionSchema& schema, double limit) {
  if (schema.type == OptionType::kInt && std::abs(limit) < 1e15)
    return std::to_string(static_cast<int64_t>(limit));
  return shortest_float(limit);
}

std::string scalar_to_yaml(const Scalar& scalar) {
  if (const bool* flag = std::get_if<bool>(&scalar)) return *flag ? "true" : "false";
  if (const int64_t* number = std::get_if<int64_t>(&scalar)) return std::to_string(*number);
  if (const double* number = std::get_if<double>(&scalar)) return shortest_float(*number);
  return to_yaml(std::string_view(std::get<std::string>(scalar)));
}

}  // namespace

std::string range_text(const OptionSchema& schema) {
  if (schema.min && schema.max && !schema.above_min && !schema.below_max)
    return "from " + limit_text(schema, *schema.min) + " to " + limit_text(schema, *schema.max);
  std::string text;
  if (schema.min)
    text = (schema.above_min ? "above " : "at least ") + limit_text(schema, *schema.min);
  if (schema.min && schema.max) text += " and ";
  if (schema.max)
    text += (schema.below_max ? "below " : "at most ") + limit_text(schema, *schema.max);
  return text;
}

std::string describe_type(const OptionSchema& schema) {
  std::string type;
  switch (schema.type) {
    case OptionType::kBool: type = "true or false"; break;
    case OptionType::kInt: type = "integer"; break;
    case OptionType::kFloat: type = "number"; break;
    case OptionType::kString: type = "text"; break;
    case OptionType::kPath: type = "path"; break;
    case OptionType::kEnum: type = "one of " + joined(schema.values); break;
  }
  const std::string range = range_text(schema);
  return (schema.is_list ? "list of " : "") + type + (range.empty() ? "" : ", " + range);
}

std::string describe_option(const OptionSchema& schema) {
  std::string text = schema.name + ": " + describe_type(schema);
  if (schema.default_value) text += "; default " + to_yaml(*schema.default_value);
  if (!schema.help.empty()) text += "; " + schema.help;
  return text;
}

std::string to_yaml(std::string_view text) {
  const bool plain = !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
                     std::all_of(text.begin(), text.end(), [](char c) {
                       return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
                              c == '.' || c == '/' || c == '-';
                     });
  static const std::vector<std::string_view> kReserved = {"true", "false", "null", "yes", "no",
                                                          "on",   "off",   "y",    "n"};
  std::string lowered(text);
  for (char& c : lowered) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool reserved = std::find(kReserved.begin(), kReserved.end(), lowered) != kReserved.end();
  // A leading '.' or '-' could begin a number, a list or a document end.
  if (plain && !reserved && (text[0] == '/' || std::isalpha(static_cast<unsigned char>(text[0]))))
    return std::string(text);

  return to_yaml_quoted(text);
}

std::string to_yaml_quoted(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      quoted += "\\x";
      quoted += kHex[byte >> 4];
      quoted += kHex[byte & 15];
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string to_yaml(const OptionValue& value) {
  if (!value.is_list) return value.items.empty() ? "null" : scalar_to_yaml(value.items.front());
  std::string text = "[";
  for (const Scalar& item : value.items)
    text += (text.size() > 1 ? ", " : "") + scalar_to_yaml(item);
  return text + "]";
}

}  // namespace titan::config
