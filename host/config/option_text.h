/// How options and their values read in messages, in `config explain` and in YAML.
#pragma once

#include <string>
#include <string_view>

#include "config/option_schema.h"

namespace titan::config {

/// "from 0.0 to 1.0", "at least 1", or nothing.
std::string range_text(const OptionSchema& schema);

/// "number, at least 0", "one of linear, sqrt, cosine", "list of text".
std::string describe_type(const OptionSchema& schema);

/// "lr: number, at least 0; default 0.0008; peak learning rate": the hint of every value error.
std::string describe_option(const OptionSchema& schema);

/// The value as YAML: "0.0008", "[a, b]", "\"two words\"".
std::string to_yaml(const OptionValue& value);
/// Text as a YAML scalar, in quotes where a plain one could be read as something else.
std::string to_yaml(std::string_view text);
/// Text in double quotes with escapes: never read as anything but text.
std::string to_yaml_quoted(std::string_view text);

}  // namespace titan::config
