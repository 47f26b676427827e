/// Facts about a device that is not here, by its name on the command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "converters/device_facts.h"

namespace titan::converters {

/// `name` is "cpu", or a compute capability as compilers name it: "sm_90", "sm_90a", "9.0". The
/// driver and cuBLASLt are taken to be those of CUDA 13.0, the memory is unknown (0). A usage error
/// with the known ones otherwise.
DeviceFacts assumed_device(const std::string& name);

/// A device that is sold, and its memory.
struct ExampleDevice {
  std::string name;
  uint64_t memory_bytes = 0;
};

/// The examples of an assumed device, by rising memory; none for "cpu" and unknown names.
std::vector<ExampleDevice> example_devices(const std::string& name);

}  // namespace titan::converters
