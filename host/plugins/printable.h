/// Text from files and plugins made safe to print.
#pragma once

#include <string>
#include <string_view>

namespace titan::plugins {

/// Keeps valid UTF-8; control characters and bad bytes become \xNN. Longer texts are cut at
/// `max_bytes` (at a character's edge) and end in "...".
std::string printable(std::string_view text, size_t max_bytes = 4096);

/// `[a-z][a-z0-9_.-]{0,63}`: names of plugins, converters and instances.
bool valid_name(std::string_view name);

}  // namespace titan::plugins
