/// Memory of this process.
#pragma once

#include <cstdint>

namespace titan::observe {

/// The most resident memory the process had so far, in bytes.
uint64_t peak_resident_bytes();

}  // namespace titan::observe
