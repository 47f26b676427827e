#include "commands/environment.h"

#include <sys/auxv.h>

#include <cstdlib>

namespace titan::commands {

std::filesystem::path installation_prefix() {
  std::error_code error;
  std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  // Without /proc: the name it was started by. Never relative, lest the working directory decide.
  if (error) {
    const auto* name = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
    program = name ? std::filesystem::canonical(name, error) : std::filesystem::path();
    if (error) program.clear();
  }
  return program.empty() ? std::filesystem::path("/nowhere") : program.parent_path().parent_path();
}

std::filesystem::path data_folder() {
  const char* given = std::getenv("TITAN_DATA_DIR");
  return given && *given ? std::filesystem::path(given)
                         : installation_prefix() / "share/titan/data";
}

std::filesystem::path template_folder() { return installation_prefix() / "share/titan/template"; }

std::filesystem::path installed_plugin_folder() {
  return installation_prefix() / "lib/titan/plugins";
}

}  // namespace titan::commands
