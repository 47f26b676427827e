/// Entry of the program titan-plugin-validate.
#include "base/terminal.h"
#include "conformance/validate.h"
#include "plugins/current_call.h"

int main(int argc, char** argv) {
  titan::open_standard_descriptors();
  titan::plugins::name_plugins_in_crashes();
  return titan::conformance::validate(argc, argv);
}
