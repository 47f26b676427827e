/// The device backend on the CPU: as it ships, but for the table of cuBLASLt's functions and the
/// launch of kernels.
#pragma once

#include "cuda/cuda_backend.h"
#include "fake_cublaslt.h"
#include "launch_log.h"

namespace float8::test {

/// `capability` as 10 * major + minor, which the double of cuBLASLt then plays.
inline std::unique_ptr<device::CudaBackend> make_device_backend(const Plan& plan,
                                                                int32_t capability = 90) {
  fake_cublaslt().capability = capability;
  DeviceSettings settings{capability / 10, capability % 10, capability / 10 == 9};
  settings.fast_y = usual_fast_accumulation(plan.recipe).y;
  return std::make_unique<device::CudaBackend>(plan, settings, &fake_cublaslt_table);
}

/// A device that can run the recipe.
inline int32_t capability_for(Recipe recipe) { return recipe == Recipe::kMxfp8 ? 100 : 90; }

}  // namespace float8::test
