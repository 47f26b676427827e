/// Fuzzes the strict YAML reader.
#include "config/yaml_reader.h"
#include "fuzz/expect_error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  titan::fuzz::allow_errors(
      [&] { titan::config::read_yaml(titan::fuzz::text_of(data, size), "fuzz.yaml"); });
  return 0;
}
