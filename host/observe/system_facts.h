/// The machine a run is on: what a report names and what can be too small.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace titan::observe {

struct SystemFacts {
  std::string operating_system;    ///< "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;              ///< "Linux 6.1.0-18-amd64 x86_64"
  std::string c_library;           ///< "glibc 2.36"
  std::string processor;           ///< "AMD EPYC 9554 64-Core Processor"
  int64_t processors = 0;          ///< online, hardware threads included
  int64_t processors_allowed = 0;  ///< of them, those that this process may run on
  double processor_quota =
      0;  ///< processors' worth of time that its control group has; 0: no limit
  uint64_t memory_bytes = 0;
  uint64_t memory_available_bytes = 0;  ///< without swapping; 0: not known
  uint64_t memory_limit_bytes = 0;      ///< of its control group; 0: no limit
  uint64_t swap_bytes = 0;
  uint64_t swap_free_bytes = 0;
};

/// `root`: the folder that holds proc/, sys/ and etc/; what is not in files is always of this
/// machine.
SystemFacts system_facts(const std::filesystem::path& root = "/");

struct DiskSpace {
  std::filesystem::path measured;  ///< the folder itself, or the nearest one above it that is there
  uint64_t total_bytes = 0;
  uint64_t free_bytes = 0;  ///< for this user
  bool writable = false;    ///< this user may make files in `measured`
  bool no_inodes = false;   ///< no more files can be made, whatever is free
};

/// All zero if nothing can be found out.
DiskSpace disk_space(const std::filesystem::path& folder);

}  // namespace titan::observe
