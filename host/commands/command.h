/// What every subcommand gets from the command line.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace titan::commands {

/// A config file, and everything of the form --section.key=value that came with it.
struct ConfigArguments {
  std::optional<std::filesystem::path> file;
  std::vector<std::string> overrides;
};

}  // namespace titan::commands
