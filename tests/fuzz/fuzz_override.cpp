/// Fuzzes command-line overrides: one argument a line, read and matched with the built-in sections.
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "config/load.h"
#include "fuzz/expect_error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::istringstream lines(titan::fuzz::text_of(data, size));
  std::vector<std::string> arguments;
  for (std::string line; std::getline(lines, line);) arguments.push_back(line);
  titan::fuzz::allow_errors([&] { titan::config::load_config(std::nullopt, arguments); });
  return 0;
}
