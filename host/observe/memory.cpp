#include "observe/memory.h"

#include <sys/resource.h>

#include <fstream>
#include <sstream>
#include <string>

namespace titan::observe {
namespace {

/// "VmHWM" of /proc/self/status in bytes; 0 if the system has no such file.
uint64_t high_water_mark() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream fields(line);
    std::string name;
    uint64_t kib = 0;
    if (fields >> name >> kib && name == "VmHWM:") return kib * 1024;
  }
  return 0;
}

}  // namespace

uint64_t peak_resident_bytes() {
  // Why not getrusage alone: its peak survives exec, so a large launcher would be counted here.
  if (const uint64_t bytes = high_water_mark()) return bytes;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;  // the kernel counts in KiB
}

}  // namespace titan::observe
