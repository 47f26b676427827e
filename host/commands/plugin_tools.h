/// The subcommands of `titan plugins` for who writes plugins or scripts: new, has.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "commands/command.h"

namespace CLI {
class App;
}

namespace titan::commands {

/// Adds the subcommands and keeps what was parsed for them; it must outlive the parsing.
class PluginTools {
 public:
  explicit PluginTools(CLI::App& plugins);
  PluginTools(const PluginTools&) = delete;
  PluginTools& operator=(const PluginTools&) = delete;

  /// Makes a config file and overrides of what was left over; the second argument is the command's
  /// name.
  using Arguments =
      std::function<ConfigArguments(const std::vector<std::string>&, const std::string&)>;
  /// Runs the one that the line asked for and returns the exit status; nothing if it was another
  /// one.
  std::optional<int> run(const Arguments& arguments) const;

 private:
  CLI::App* new_app_;
  CLI::App* has_app_;
  std::string new_name_, language_ = "cpp";
  std::filesystem::path folder_;
  std::string wanted_, at_least_;
};

}  // namespace titan::commands
