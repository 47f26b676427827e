/// Opens a file that may be anything (FIFO, device, link loop) and reads it without ever blocking.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace titan::plugins {

/// Which file it was when it was checked: a later open must find the same.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};

struct FileStat {
  FileIdentity identity;
  uint32_t mode = 0;
  uint32_t owner = 0;
};

/// Owns a file descriptor.
class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int fd) : fd_(fd) {}
  FileHandle(FileHandle&& other) noexcept;
  FileHandle& operator=(FileHandle&& other) noexcept;
  ~FileHandle();
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// An opened regular file, or why it is not one.
struct OpenedFile {
  FileHandle handle;
  FileStat stat;
  std::string problem;  ///< empty on success: "is a FIFO", "cannot be opened: Permission denied"
  std::string hint;
};

/// Never blocks, never opens a device: the type is looked at first and again after opening.
OpenedFile open_regular_file(const std::filesystem::path& path);

/// All bytes, read from offset 0. Reads rather than maps: a file that shrinks meanwhile gives fewer
/// bytes, not SIGBUS. Throws environment_error if reading fails.
std::vector<std::byte> read_bytes(const OpenedFile& file, const std::filesystem::path& path);

}  // namespace titan::plugins
