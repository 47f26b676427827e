/// Facts about the device a run targets, as data: detected on this machine, or set by a test or by
/// `--device` to plan for another one.
#pragma once

#include <cstdint>
#include <string>

namespace titan::converters {

struct DeviceFacts {
  bool cuda = false;
  std::string name = "CPU";
  int32_t capability_major = 0;  ///< CUDA compute capability; 0.0 on the CPU
  int32_t capability_minor = 0;
  uint64_t memory_bytes = 0;
  int32_t driver_version = 0;    ///< 13000 for 13.0; 0: no driver
  int32_t cublaslt_version = 0;  ///< cublasLtGetVersion(); 0: not found
};

}  // namespace titan::converters
