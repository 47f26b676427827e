/// What there is of CUDA on this machine, asked of its libraries by name: titan links none of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace titan::train {

struct CudaDevice {
  std::string name;
  int32_t capability_major = 0;
  int32_t capability_minor = 0;
  uint64_t memory_bytes = 0;
};

struct CudaDriver {
  bool found = false;               ///< libcuda.so.1 is there
  int32_t version = 0;              ///< the newest CUDA it can run: 13000 for 13.0; 0: not known
  int32_t error = 0;                ///< CUresult of starting it; 100: it sees no device
  std::vector<CudaDevice> devices;  ///< those that CUDA_VISIBLE_DEVICES leaves
};

/// Starts the driver, but makes no context on a device.
CudaDriver cuda_driver();

// Versions of what training on a GPU uses; 0: not found. Asked of the library that LibTorch opened;
// before open_torch_cuda() of one in NVIDIA's wheels beside LibTorch, or of one that the loader
// finds. A process that trains asks afterwards, lest it decide which one LibTorch gets.
int32_t cuda_runtime_version();  ///< 13000 for 13.0
int32_t cublaslt_version();      ///< 130100 for 13.1.0
int32_t nccl_version();          ///< 22703 for 2.27.3

/// Registers CUDA with LibTorch by opening libtorch_cuda.so. Takes seconds; a CPU run needs none of
/// it. Returns why it failed; empty if it did not.
std::string open_torch_cuda();

}  // namespace titan::train
