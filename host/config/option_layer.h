/// The options of a converter from one place (a section, an entry, the command line), typed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/node.h"
#include "config/option_schema.h"

namespace titan::config {

struct LayerValue {
  OptionValue value;
  std::string where;
};

/// Values by schema name; `include` and `exclude` are among them.
using OptionLayer = std::map<std::string, LayerValue>;

/// Types one value and stores it under its schema name. `owner` is how the user calls the converter
/// here ("float8", an instance); `key` may be an alias, include, exclude or filter_fqns.
/// Returns the schema name; a usage error if the key is unknown or the value not allowed.
std::string add_to_layer(OptionLayer& layer, const ConverterSchema& schema,
                         const std::string& owner, const std::string& key,
                         const std::string& key_where, const Node& node);

/// Types a whole map. Two keys that mean the same option are refused.
OptionLayer read_layer(const ConverterSchema& schema, const std::string& owner, const Node& map);

/// The option of that name or alias; null if there is none.
const OptionSchema* find_option(const ConverterSchema& schema, const std::string& key);

}  // namespace titan::config
