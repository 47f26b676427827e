/// A file that appears under its name only when it is complete.
#pragma once

#include <cstdint>
#include <filesystem>

namespace titan::checkpoint {

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

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

}  // namespace titan::checkpoint
