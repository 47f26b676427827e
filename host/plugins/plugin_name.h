/// The form of names of plugins, converters and instances.
#pragma once

#include <string_view>

namespace titan::plugins {

/// `[a-z][a-z0-9_.-]{0,63}`.
bool valid_name(std::string_view name);

}  // namespace titan::plugins
