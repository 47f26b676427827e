#include "checkpoint/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/crc32c.h"

namespace titan::checkpoint {
namespace {

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace

Error cannot_write_file(const std::filesystem::path& path, int code) {
  std::string hint = "check that the folder exists and that this user may write to it";
  if (code == ENOSPC || code == EDQUOT || code == EFBIG)
    hint = "free space on the disk (or raise the limit on file sizes), or choose another folder";
  if (code == EISDIR) hint = "remove the folder of that name, or choose another file name";
  return environment_error("'" + path.string() + "' cannot be written: " + std::strerror(code),
                           path.string(), hint);
}

void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

AtomicFile::AtomicFile(const std::filesystem::path& path) : path_(path) {
  // Another process, or one that crashed under the same number, may own the first name.
  for (int attempt = 0; attempt < 100; ++attempt) {
    temporary_ = folder_of(path) / (std::string(".").append(path.filename().string()) + ".tmp-" +
                                    std::to_string(getpid()) + "-" + std::to_string(attempt));
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0 || errno != EEXIST) break;
  }
  if (descriptor_ < 0) throw cannot_write_file(path, errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* bytes, int64_t size) {
  const char* from = static_cast<const char*>(bytes);
  sum_.bytes += size;
  sum_.crc32c = crc32c(sum_.crc32c, {from, static_cast<size_t>(size)});
  while (size > 0) {
    const ssize_t count = ::write(descriptor_, from, static_cast<size_t>(size));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw cannot_write_file(path_, errno);
    from += count;
    size -= count;
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) throw cannot_write_file(path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw cannot_write_file(path_, errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) throw cannot_write_file(path_, errno);
  // The new name lives in the folder, which has to reach the disk as well.
  sync_folder(folder_of(path_));
}

}  // namespace titan::checkpoint
