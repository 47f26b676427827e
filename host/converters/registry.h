/// All converters a run could apply, by name. Filled at start-up, then frozen.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/option_schema.h"
#include "converters/model_converter.h"

namespace titan::converters {

struct RegisteredConverter {
  config::ConverterSchema schema;
  ConverterFactory factory;
};

/// Being registered turns nothing on: model.converters lists what is applied.
class Registry {
 public:
  /// Adds a converter under schema.name; schema.origin says where it is from. A duplicate name is a
  /// usage error naming both origins; adding after freeze() is an internal error.
  void register_model_converter(config::ConverterSchema schema, ConverterFactory factory);
  void freeze() { frozen_ = true; }
  /// Null if there is none of that name.
  const RegisteredConverter* find(const std::string& name) const;
  std::vector<config::ConverterSchema> schemas() const;

 private:
  std::map<std::string, RegisteredConverter> converters_;
  bool frozen_ = false;
};

}  // namespace titan::converters
