/// Fuzzes the safetensors header: what is accepted lies inside the file and is written back alike.
#include <cstdlib>

#include "checkpoint/safetensors_header.h"
#include "fuzz/expect_error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  titan::fuzz::allow_errors([&] {
    const std::string bytes = titan::fuzz::text_of(data, size);
    const auto header = titan::checkpoint::parse_safetensors_header(bytes, "fuzz.safetensors");
    for (const auto& tensor : header.tensors)
      if (tensor.begin < 8 || tensor.end < tensor.begin || tensor.end > static_cast<int64_t>(size))
        std::abort();
  });
  return 0;
}
