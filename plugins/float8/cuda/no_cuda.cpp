/// Stands in for the CUDA backend where no CUDA compiler was found.
#include <titan/titan_sdk.hpp>

#include "backend.h"

namespace float8 {

std::unique_ptr<Backend> make_cuda_backend(const Plan&, const DeviceSettings&) {
  throw titan::sdk::Error(
      TITAN_UNSUPPORTED, "this float8.so was built without CUDA",
      "build titan where nvcc is found (TITAN_CUDA=ON), or set training.device=cpu and "
      "float8.emulate=true");
}

bool built_with_cuda() { return false; }
int64_t built_for_cublaslt() { return 0; }

}  // namespace float8
