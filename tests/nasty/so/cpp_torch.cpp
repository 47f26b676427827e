/// Needs C++ symbols of LibTorch without linking it, as a build against ATen headers would.
#include <titan/titan_sdk.h>

#ifdef DEFECT_WITH_NOTE
TITAN_NOTE(
    "{\"name\": \"cpp_torch\", \"version\": \"1.0.0\", \"api_min\": 1, \"api_built\": 1,"
    "\"tier\": \"stable\", \"torch_min\": \"2.10\", \"converters\": [{\"name\": \"cpp_torch\"}]}");
#endif

namespace at {
struct Tensor {
  int64_t numel() const;
};
}  // namespace at

titan_status register_converters(const titan_host* host, titan_registrar*) {
  return host == nullptr ? static_cast<titan_status>(at::Tensor().numel()) : TITAN_FAILED;
}
