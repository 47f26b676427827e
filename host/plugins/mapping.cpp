/// Reads /proc/self/maps.
#include "plugins/mapping.h"

#include <sys/mman.h>

#include <fstream>
#include <sstream>

namespace titan::plugins {

std::optional<MappedFile> mapped_file_at(const void* address) {
  std::ifstream maps("/proc/self/maps");
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  for (std::string line; std::getline(maps, line);) {
    // 7f0c2a000000-7f0c2a021000 r-xp 00001000 fd:01 1835039  /path
    std::istringstream fields(line);
    uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::string permissions, offset;
    MappedFile file;
    fields >> std::hex >> begin >> dash >> end >> permissions >> offset >> file.device >>
        std::dec >> file.inode;
    if (fields && begin <= wanted && wanted < end) {
      if (file.inode == 0) return std::nullopt;
      return file;
    }
  }
  return std::nullopt;
}

std::optional<MappedFile> mapped_file_of(int fd) {
  constexpr size_t kAnyLength = 1;  // the kernel rounds up to a page
  void* page = mmap(nullptr, kAnyLength, PROT_READ, MAP_PRIVATE, fd, 0);
  if (page == MAP_FAILED) return std::nullopt;
  const std::optional<MappedFile> file = mapped_file_at(page);
  munmap(page, kAnyLength);
  return file;
}

}  // namespace titan::plugins
