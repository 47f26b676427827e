#include "config/json_schema.h"

#include <nlohmann/json.hpp>

#include "config/common_options.h"
#include "config/fields.h"

namespace titan::config {
namespace {

using Json = nlohmann::ordered_json;

Json scalar_json(const Scalar& scalar) {
  return std::visit([](const auto& value) { return Json(value); }, scalar);
}

Json value_json(const OptionValue& value) {
  if (!value.is_list) return scalar_json(value.items.front());
  Json list = Json::array();
  for (const Scalar& item : value.items) list.push_back(scalar_json(item));
  return list;
}

/// The type, limits and values of one item of an option.
Json item_json(const OptionSchema& option) {
  Json item;
  switch (option.type) {
    case OptionType::kBool: item["type"] = "boolean"; break;
    case OptionType::kInt: item["type"] = "integer"; break;
    case OptionType::kFloat: item["type"] = "number"; break;
    case OptionType::kString:
    case OptionType::kPath: item["type"] = "string"; break;
    case OptionType::kEnum: item["enum"] = option.values; break;
  }
  if (option.min) item[option.above_min ? "exclusiveMinimum" : "minimum"] = *option.min;
  if (option.max) item[option.below_max ? "exclusiveMaximum" : "maximum"] = *option.max;
  return item;
}

Json option_json(const OptionSchema& option, bool nullable) {
  Json json = item_json(option);
  if (option.is_list) json = Json{{"type", "array"}, {"items", json}};
  if (nullable) json = Json{{"anyOf", Json::array({json, Json{{"type", "null"}}})}};
  if (!option.help.empty()) json["description"] = option.help;
  if (option.default_value) json["default"] = value_json(*option.default_value);
  return json;
}

Json object(const std::string& description = {}) {
  Json json{{"type", "object"}};
  if (!description.empty()) json["description"] = description;
  json["additionalProperties"] = false;
  json["properties"] = Json::object();
  return json;
}

/// The options of a converter, under their names and their other names.
Json converter_json(const ConverterSchema& schema) {
  Json json = object(schema.summary);
  Json& properties = json["properties"];
  for (const auto* options : {&schema.options, &common_options()})
    for (const OptionSchema& option : *options) {
      properties[option.name] = option_json(option, false);
      for (const std::string& alias : option.aliases)
        properties[alias] = option_json(option, false);
    }
  return json;
}

/// An entry of model.converters: a name, or a map with `use` and options.
Json converter_item_json(const std::vector<ConverterSchema>& schemas) {
  Json choices = Json::array({Json{{"type", "string"}}});
  for (const ConverterSchema& schema : schemas) {
    Json entry = converter_json(schema);
    entry["properties"]["use"] = Json{{"const", schema.name}};
    entry["properties"]["as"] = Json{{"type", "string"}, {"description", "its name in this run"}};
    entry["required"] = Json::array({"use"});
    choices.push_back(std::move(entry));
  }
  return Json{{"anyOf", std::move(choices)}};
}

}  // namespace

std::string json_schema(const std::vector<ConverterSchema>& schemas) {
  Json root{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "titan config"}};
  root.update(object());
  Json& sections = root["properties"];
  for (const Field& field : fields()) {
    // "model.args" is the object "args" inside "model".
    const size_t dot = field.section.find('.');
    Json* section = &sections[field.section.substr(0, dot)];
    if (section->is_null()) *section = object();
    if (dot != std::string::npos) {
      section = &(*section)["properties"][field.section.substr(dot + 1)];
      if (section->is_null()) *section = object();
    }
    Json& key = (*section)["properties"][field.option.name];
    key = option_json(field.option, field.nullable);
    if (field.is_converters) key["items"] = converter_item_json(schemas);
  }
  for (const ConverterSchema& schema : schemas) sections[schema.name] = converter_json(schema);
  return root.dump(2) + "\n";
}

}  // namespace titan::config
