/// Opening and reading with POSIX calls; see the header for what is guarded against.
#include "plugins/file_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/printable.h"

namespace titan::plugins {
namespace {

std::string errno_text(int code) { return std::generic_category().message(code); }

const char* type_of(mode_t mode) {
  if (S_ISDIR(mode)) return "is a folder";
  if (S_ISFIFO(mode)) return "is a FIFO";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "is a device";
  if (S_ISSOCK(mode)) return "is a socket";
  return "is not a regular file";
}

FileStat to_file_stat(const struct stat& from) {
  FileStat out;
  out.identity.device = from.st_dev;
  out.identity.inode = from.st_ino;
  out.identity.size = static_cast<uint64_t>(from.st_size);
  out.identity.mtime_ns = int64_t{from.st_mtim.tv_sec} * 1'000'000'000 + from.st_mtim.tv_nsec;
  out.mode = from.st_mode;
  out.owner = from.st_uid;
  return out;
}

OpenedFile cannot_open(const std::filesystem::path& path, int code) {
  OpenedFile result;
  result.problem = "cannot be opened: " + errno_text(code);
  result.hint = "check the path";
  struct stat link {};
  const bool is_link = lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode);
  if (is_link && code == ENOENT) {
    result.problem = "is a link to a file that does not exist";
    result.hint = "remove the link or make its target";
  } else if (code == ELOOP) {
    result.problem = "is a link that leads back to itself";
    result.hint = "remove the link";
  } else if (code == EACCES) {
    result.hint = "make the file readable: chmod a+r " + shell_path(path.native());
  }
  return result;
}

}  // namespace

FileHandle::FileHandle(FileHandle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FileHandle& FileHandle::operator=(FileHandle&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileHandle::~FileHandle() {
  if (fd_ >= 0) close(fd_);
}

OpenedFile open_regular_file(const std::filesystem::path& path) {
  struct stat before {};
  if (stat(path.c_str(), &before) != 0) return cannot_open(path, errno);
  OpenedFile result;
  const auto refuse_type = [&](mode_t mode) {
    result.problem = type_of(mode);
    result.problem += ", not a file";
    result.hint = "plugins are regular files; remove it or give it a name that does not end in .so";
  };
  if (!S_ISREG(before.st_mode)) {
    refuse_type(before.st_mode);
    return result;
  }
  // O_NONBLOCK: should the file have become a FIFO since, the open still returns.
  FileHandle handle(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!handle.is_open()) return cannot_open(path, errno);
  struct stat opened {};
  if (fstat(handle.get(), &opened) != 0) return cannot_open(path, errno);
  if (!S_ISREG(opened.st_mode)) {
    refuse_type(opened.st_mode);
    return result;
  }
  result.stat = to_file_stat(opened);
  result.handle = std::move(handle);
  return result;
}

std::vector<std::byte> read_bytes(const OpenedFile& file, const std::filesystem::path& path) {
  std::vector<std::byte> bytes(file.stat.identity.size);
  size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = pread(file.handle.get(), bytes.data() + filled, bytes.size() - filled,
                              static_cast<off_t>(filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw environment_error("reading failed: " + errno_text(errno), printable_path(path.native()),
                              "check the disk or network file system that holds the file");
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace titan::plugins
