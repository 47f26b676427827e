#include "commands/environment.h"

#include <cstdlib>

namespace titan::commands {

std::filesystem::path installation_prefix() {
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return program.parent_path().parent_path();
}

std::filesystem::path data_folder() {
  const char* given = std::getenv("TITAN_DATA_DIR");
  return given && *given ? std::filesystem::path(given) : installation_prefix() / "share/titan/data";
}

std::filesystem::path template_folder() { return installation_prefix() / "share/titan/template"; }

std::filesystem::path installed_plugin_folder() { return installation_prefix() / "lib/titan/plugins"; }

}  // namespace titan::commands
