/// Entry of the `titan` program.
#include "base/terminal.h"
#include "commands/cli.h"
#include "plugins/current_call.h"

int main(int argc, char** argv) {
  titan::open_standard_descriptors();
  titan::plugins::name_plugins_in_crashes();
  return titan::commands::run(argc, argv);
}
