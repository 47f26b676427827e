#include "config/option_parser.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/suggest.h"
#include "config/option_text.h"
#include "config/yaml_reader.h"

namespace titan::config {
namespace {

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

Error value_error(const OptionSchema& schema, const std::string& full_name,
                  const std::string& problem, const std::string& where,
                  const std::string& advice = "") {
  return usage_error(full_name + " " + problem, where, advice + describe_option(schema));
}

std::optional<bool> bool_of(const Node& node) {
  if (node.quoted) return std::nullopt;
  std::string text = node.text;
  if (node.command_line) {
    text = trimmed(text);
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (text == "1" || text == "on" || text == "yes") return true;
    if (text == "0" || text == "off" || text == "no") return false;
  }
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  return std::nullopt;
}

/// std::from_chars over the whole text, with a leading '+' allowed.
template <typename T>
std::errc number_of(std::string text, T& value) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.erase(0, 1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size())
    return std::errc::invalid_argument;
  return error;
}

/// "007" is octal to some YAML readers and seven to others.
bool has_leading_zero(const std::string& text) {
  const size_t first = text.find_first_not_of("+-");
  return first != std::string::npos && first + 1 < text.size() && text[first] == '0' &&
         std::isdigit(static_cast<unsigned char>(text[first + 1])) != 0;
}

Scalar parse_int_option(const OptionSchema& schema, const std::string& full_name,
                        const Node& node) {
  const std::string text = node.command_line ? trimmed(node.text) : node.text;
  int64_t value = 0;
  const std::errc error = number_of(text, value);
  if (node.quoted || error == std::errc::invalid_argument || has_leading_zero(text)) {
    double as_float = 0;
    std::string digits = text;
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    std::string advice;
    if (has_leading_zero(text)) {
      advice = "leading zeros are ambiguous; ";
    } else if (node.quoted) {
      advice = "remove the quotes; ";
    } else if (number_of(digits, as_float) == std::errc() && std::abs(as_float) < 1e15 &&
               as_float == std::floor(as_float)) {
      advice = "write " + std::to_string(static_cast<int64_t>(as_float)) + "; ";
    }
    throw value_error(schema, full_name, "must be an integer, found " + node.describe(), node.where,
                      advice);
  }
  if (error != std::errc())
    throw value_error(schema, full_name, "does not fit into 64 bits: " + node.describe(),
                      node.where);
  return value;
}

Scalar parse_float_option(const OptionSchema& schema, const std::string& full_name,
                          const Node& node) {
  const std::string text = node.command_line ? trimmed(node.text) : node.text;
  double value = 0;
  const std::errc error = number_of(text, value);
  if (node.quoted || error == std::errc::invalid_argument)
    throw value_error(schema, full_name, "must be a number, found " + node.describe(), node.where,
                      node.quoted ? "remove the quotes; " : "");
  if (error != std::errc() || !std::isfinite(value))
    throw value_error(schema, full_name,
                      "must be a finite number of double precision, found " + node.describe(),
                      node.where);
  return value;
}

Scalar parse_scalar_option(const OptionSchema& schema, const std::string& full_name,
                           const Node& node) {
  if (node.kind != Node::Kind::kScalar) {
    const bool missing = node.kind == Node::Kind::kNull;
    throw value_error(schema, full_name,
                      missing ? "has no value" : "must be one value, found " + node.describe(),
                      node.where);
  }
  switch (schema.type) {
    case OptionType::kBool: {
      const std::optional<bool> value = bool_of(node);
      if (!value)
        throw value_error(schema, full_name, "must be true or false, found " + node.describe(),
                          node.where, node.quoted ? "remove the quotes; " : "");
      return *value;
    }
    case OptionType::kInt: return parse_int_option(schema, full_name, node);
    case OptionType::kFloat: return parse_float_option(schema, full_name, node);
    case OptionType::kEnum: return node.command_line ? trimmed(node.text) : node.text;
    case OptionType::kString:
    case OptionType::kPath: break;
  }
  // Everything that takes C strings, the file system for one, would cut the text there.
  if (node.text.find('\0') != std::string::npos)
    throw value_error(schema, full_name, "holds a NUL character", node.where, "remove it; ");
  return node.text;
}

}  // namespace

std::vector<Node> list_items(const std::string& full_name, const Node& node,
                             const std::string& hint) {
  if (node.kind == Node::Kind::kList) return node.items;
  if (node.kind != Node::Kind::kScalar || !node.command_line)
    throw usage_error(
        full_name + " must be a list, found " + node.describe(), node.where,
        (node.kind == Node::Kind::kScalar ? "write [" + node.text + "]; " : "") + hint);
  const std::string text = trimmed(node.text);
  if (!text.empty() && text.front() == '[' && text.back() == ']') {
    const Node list = read_yaml_option(text, node.where);
    if (list.kind == Node::Kind::kList) return list.items;
  }
  std::vector<Node> items;
  for (size_t start = 0; start <= text.size();) {
    const size_t comma = std::min(text.find(',', start), text.size());
    Node item = node;
    item.text = trimmed(text.substr(start, comma - start));
    if (item.text.empty())
      throw usage_error(full_name + " has an empty item: '" + node.text + "'", node.where,
                        "separate items by single commas, or write [] for an empty list; " + hint);
    items.push_back(std::move(item));
    start = comma + 1;
  }
  return items;
}

void check_limits(const OptionSchema& schema, const std::string& full_name,
                  const OptionValue& value, const std::string& where) {
  for (const Scalar& item : value.items) {
    if (schema.type == OptionType::kEnum) {
      const std::string& name = std::get<std::string>(item);
      if (std::find(schema.values.begin(), schema.values.end(), name) == schema.values.end())
        throw usage_error(
            full_name + " must be " + describe_type(schema) + "; found '" + name + "'", where,
            did_you_mean(name, schema.values) + describe_option(schema));
      continue;
    }
    double number = 0;
    if (const int64_t* whole = std::get_if<int64_t>(&item))
      number = static_cast<double>(*whole);
    else if (const double* real = std::get_if<double>(&item))
      number = *real;
    else
      continue;
    const bool low =
        schema.min && (number < *schema.min || (schema.above_min && number == *schema.min));
    const bool high =
        schema.max && (number > *schema.max || (schema.below_max && number == *schema.max));
    if (low || high)
      throw value_error(
          schema, full_name,
          "must be " + range_text(schema) + ", found " + to_yaml(OptionValue{false, {item}}),
          where);
  }
}

OptionValue parse_option(const OptionSchema& schema, const std::string& full_name,
                         const Node& node) {
  OptionValue value;
  value.is_list = schema.is_list;
  if (schema.is_list) {
    for (const Node& item : list_items(full_name, node, describe_option(schema)))
      value.items.push_back(parse_scalar_option(schema, full_name, item));
  } else {
    value.items.push_back(parse_scalar_option(schema, full_name, node));
  }
  check_limits(schema, full_name, value, node.where);
  return value;
}

}  // namespace titan::config
