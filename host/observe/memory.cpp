#include "observe/memory.h"

#include <sys/resource.h>

namespace titan::observe {

uint64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;  // the kernel counts in KiB
}

}  // namespace titan::observe
