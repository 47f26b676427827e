/// The entries of model.converters: reading them, and the names they may have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace titan::config {

/// Reads the list. An entry is a name, or a map with `use` and anything else; a name may occur
/// twice only with different `as`. Options are checked later, when their schemas are known.
std::vector<ConverterItem> parse_converter_items(const Node& node);

/// Keys of an entry or a section that are no options: use, as, include, exclude, filter_fqns.
bool is_reserved_key(std::string_view key);

/// What is wrong with a converter's or instance's name; empty if nothing is. A name has the form
/// [a-z][a-z0-9_.-]{0,63} and is none of the built-in sections.
std::string problem_of_name(std::string_view name);

}  // namespace titan::config
