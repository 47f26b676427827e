/// A file that appears under its name only when it is complete.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/error.h"

namespace titan::checkpoint {

/// Tells whether a file is still what was written.
struct FileSum {
  int64_t bytes = 0;
  uint32_t crc32c = 0;
  bool operator==(const FileSum&) const = default;
};

/// Makes the names in a folder durable. Some file systems cannot do that; nothing is reported.
void sync_folder(const std::filesystem::path& folder);

/// "'PATH' cannot be written: ..." with the fix for the error number `code`.
Error cannot_write_file(const std::filesystem::path& path, int code);

/// Writes to a temporary file in the folder of `path`. commit() makes it durable and gives it its
/// name, replacing what was there; without it the temporary file is removed and nothing changed.
/// Failures are environment errors that name the path.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* bytes, int64_t size);
  void commit();
  const FileSum& sum() const { return sum_; }  ///< of what was written so far

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
  FileSum sum_;
};

}  // namespace titan::checkpoint
