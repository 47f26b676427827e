/// Checks a written value against its schema: the same rules for built-in keys and plugin options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"
#include "config/option_schema.h"

namespace titan::config {

/// The typed value of `node`. A usage error names `full_name` ("optimizer.lr"), what was found,
/// what is allowed and the place. Nothing is converted in silence: quoted text is no number, 1.5 is
/// no integer, and in YAML only true and false are booleans.
OptionValue parse_option(const OptionSchema& schema, const std::string& full_name,
                         const Node& node);

/// The items of a list. On the command line that is "a, b" or a YAML list "[a, b]"; blanks around
/// items are dropped and empty items refused. Elsewhere `node` must be a list.
std::vector<Node> list_items(const std::string& full_name, const Node& node,
                             const std::string& hint);

/// Throws a usage error at `where` if an item lies outside the schema's range or values.
void check_limits(const OptionSchema& schema, const std::string& full_name,
                  const OptionValue& value, const std::string& where);

}  // namespace titan::config
