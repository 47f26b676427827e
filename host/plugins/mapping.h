/// Whether what is mapped is the file that was checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace titan::plugins {

/// Device and inode as the kernel shows them for a mapping. On some overlay file systems they
/// differ from what stat says, so mappings are compared with mappings only.
struct MappedFile {
  std::string device;  ///< "fd:01"
  uint64_t inode = 0;
  bool operator==(const MappedFile&) const = default;
};

/// The file behind the mapping that holds `address`, from /proc/self/maps; nothing if there is
/// none.
std::optional<MappedFile> mapped_file_at(const void* address);

/// Maps one page of an open file and says how the kernel shows it; nothing if that fails.
std::optional<MappedFile> mapped_file_of(int fd);

}  // namespace titan::plugins
