#include "config/converter_items.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "config/fields.h"
#include "config/option_parser.h"
#include "config/overrides.h"

namespace titan::config {
namespace {

/// How to write what was meant, where that can be told.
std::string meant_item(const std::string& text) {
  if (text.front() == '{') return "put the map in a list: [" + text + "]; ";
  if (text.front() == '[' || text.back() == ']') return "a bracket is missing; ";
  std::string lower = text;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower != text && problem_of_name(lower).empty()
             ? "names are written in small letters: '" + lower + "'; "
             : "";
}

constexpr const char* kItemHint =
    "model.converters is a list such as [float8, {use: lora, as: adapter, include: "
    "[\"layers.*.attention.*\"]}]";

std::string name_in_item(const Node& node, const std::string& key) {
  if (node.kind != Node::Kind::kScalar || node.text.empty())
    throw usage_error("'" + key + "' in model.converters must be a name, found " + node.describe(),
                      node.where, kItemHint);
  return node.text;
}

std::string keys_found(const Node& node) {
  std::string keys;
  for (const auto& key : node.keys) keys += (keys.empty() ? "'" : ", '") + key.text + "'";
  return keys.empty() ? "an empty map" : "only " + keys;
}

ConverterItem parse_converter_item(const Node& node) {
  ConverterItem item;
  item.where = node.where;
  item.settings.kind = Node::Kind::kMap;
  item.settings.where = node.where;
  if (node.kind != Node::Kind::kMap) {
    if (node.kind == Node::Kind::kList)
      throw usage_error("an entry of model.converters is a list", node.where,
                        std::string("take one pair of brackets away; ") + kItemHint);
    item.use = name_in_item(node, "an entry");
  } else {
    for (size_t i = 0; i < node.items.size(); ++i) {
      if (node.keys[i].text == "use") {
        item.use = name_in_item(node.items[i], "use");
      } else if (node.keys[i].text == "as") {
        item.as = name_in_item(node.items[i], "as");
      } else {
        item.settings.keys.push_back(node.keys[i]);
        item.settings.items.push_back(node.items[i]);
      }
    }
    if (item.use.empty())
      throw usage_error(
          "an entry of model.converters has no 'use', found " + keys_found(node), node.where,
          (node.keys.size() == 1 ? "did you mean {use: " + node.keys.front().text + ", ...}? "
                                 : "") +
              std::string(kItemHint));
  }
  if (item.as.empty()) item.as = item.use;
  for (const std::string* name : {&item.use, &item.as})
    if (const std::string problem = problem_of_name(*name); !problem.empty())
      throw usage_error("'" + *name + "' in model.converters " + problem, node.where,
                        meant_item(*name) + kItemHint);
  return item;
}

void refuse_equal_instance(const std::vector<ConverterItem>& earlier, const ConverterItem& item) {
  for (const ConverterItem& other : earlier) {
    if (!same_name(other.as, item.as)) continue;
    if (other.use == item.use && other.as == other.use && item.as == item.use)
      throw usage_error(
          "model.converters lists '" + item.use + "' twice: at " + other.where + " and at " +
              item.where,
          item.where,
          "remove one, or name the second: {use: " + item.use + ", as: " + item.use + "_2}");
    throw usage_error("two entries of model.converters are named '" + item.as + "': at " +
                          other.where + " and at " + item.where,
                      item.where, "give each its own name with 'as'");
  }
}

}  // namespace

bool is_reserved_key(std::string_view key) {
  return key == "use" || key == "as" || key == "include" || key == "exclude" ||
         key == "filter_fqns";
}

std::string problem_of_name(std::string_view name) {
  const bool well_formed =
      !name.empty() && name.size() <= 64 && name[0] >= 'a' && name[0] <= 'z' &&
      std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
      });
  if (!well_formed)
    return "is no converter name (a small letter, then small letters, digits, '_', '.', '-'; at "
           "most 64)";
  for (const std::string& section : section_names())
    if (same_name(name, section)) return "is the name of a built-in section of the config";
  return "";
}

std::vector<ConverterItem> parse_converter_items(const Node& node) {
  std::vector<ConverterItem> items;
  for (const Node& entry : list_items("model.converters", node, kItemHint)) {
    ConverterItem item = parse_converter_item(entry);
    refuse_equal_instance(items, item);
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace titan::config
