/// Environment variables the program reads, and places that its own place tells, each in one place.
#pragma once

#include <filesystem>
#include <string>

namespace titan::commands {

/// The folder above the one that holds the program: the prefix of an installation, or a build
/// folder.
std::filesystem::path installation_prefix();
/// What `titan plugins new` copies; there if the SDK is installed.
std::filesystem::path template_folder();
/// TITAN_DATA_DIR: where the built-in text lies; else share/titan/data beside the installation.
std::filesystem::path data_folder();
/// Plugins that are installed with the program: lib/titan/plugins beside it.
std::filesystem::path installed_plugin_folder();

}  // namespace titan::commands
