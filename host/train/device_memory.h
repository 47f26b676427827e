/// Memory use of a run, by torchtitan's definitions.
#pragma once

#include <cstdint>

#include "train/device.h"

namespace titan::train {

struct DeviceMemory {
  /// The most that was reserved on a device since the last call; on the CPU the most resident
  /// memory the process had so far.
  uint64_t peak_bytes = 0;
  uint64_t total_bytes = 0;       ///< of the device or machine
  uint64_t active_bytes = 0;      ///< the most that tensors held on a device; 0 on the CPU
  int64_t num_alloc_retries = 0;  ///< so far: allocations for which the cache had to be emptied
  int64_t num_ooms = 0;           ///< so far: allocations that failed
};

/// Peaks of a device begin anew with every call.
DeviceMemory device_memory(const Device& device);

}  // namespace titan::train
