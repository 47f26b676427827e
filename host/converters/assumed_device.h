/// Facts about a device that is not here, by its name on the command line.
#pragma once

#include <string>

#include "converters/device_facts.h"

namespace titan::converters {

/// `name` is "cpu", or a compute capability as compilers name it: "sm_90", "sm_90a", "9.0". The
/// driver and cuBLASLt are taken to be those of CUDA 13.0, the memory is unknown (0). A usage error
/// with the known ones otherwise.
DeviceFacts assumed_device(const std::string& name);

}  // namespace titan::converters
