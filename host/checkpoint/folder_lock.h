/// One process at a time writes checkpoints into a folder.
#pragma once

#include <filesystem>

namespace titan::checkpoint {

/// Held until it is destroyed; the system lets go of it when the process ends, however it ends.
class FolderLock {
 public:
  /// Makes the folder if need be. Throws an environment error if it cannot be written, or if
  /// another process holds the lock.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace titan::checkpoint
