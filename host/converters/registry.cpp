#include "converters/registry.h"

#include "base/error.h"

namespace titan::converters {

void Registry::register_model_converter(config::ConverterSchema schema, ConverterFactory factory) {
  if (frozen_)
    throw internal_error("converter '" + schema.name + "' was registered after the registry froze",
                         schema.origin);
  const auto found = converters_.find(schema.name);
  if (found != converters_.end())
    throw usage_error("the converter name '" + schema.name + "' is taken: it comes from " +
                          found->second.schema.origin + " and from " + schema.origin,
                      schema.origin, "remove one of the two files, or rename one converter");
  const std::string name = schema.name;
  converters_.emplace(name, RegisteredConverter{std::move(schema), std::move(factory)});
}

const RegisteredConverter* Registry::find(const std::string& name) const {
  const auto found = converters_.find(name);
  return found == converters_.end() ? nullptr : &found->second;
}

std::vector<config::ConverterSchema> Registry::schemas() const {
  std::vector<config::ConverterSchema> list;
  for (const auto& [name, entry] : converters_) list.push_back(entry.schema);
  return list;
}

}  // namespace titan::converters
