/// `titan plugins new`: a plugin's project, written from the SDK's template.
#pragma once

#include <filesystem>
#include <string>

namespace titan::commands {

/// `language`: "c", "cpp" or "torch". `folder`: where the project goes; empty: ./NAME. It must not
/// exist; it appears whole or not at all. Usage errors for names that plugins cannot have and for a
/// folder that is there, environment errors for what cannot be read or written.
void new_plugin(const std::string& name, const std::string& language,
                const std::filesystem::path& folder);

}  // namespace titan::commands
