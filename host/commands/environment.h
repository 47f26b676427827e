/// Environment variables the program reads, each in one place.
#pragma once

#include <filesystem>
#include <string>

namespace titan::commands {

/// TITAN_DATA_DIR: where the built-in text lies; else share/titan/data beside the installation.
std::filesystem::path data_folder();
/// Plugins that are installed with the program: lib/titan/plugins beside it.
std::filesystem::path installed_plugin_folder();

}  // namespace titan::commands
