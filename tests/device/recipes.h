/// The recipes of the float8 plugin by name, for code that sees only torch's full headers or none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "platform.h"

namespace titan::device_check {

std::vector<std::string> recipe_names();
/// Why this device cannot run the recipe, in the plugin's words; nothing: it can.
std::optional<std::string> refusal_of(const Platform& platform, const std::string& recipe);

}  // namespace titan::device_check
