#include "checkpoint/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "checkpoint/atomic_file.h"

namespace titan::checkpoint {

FolderLock::FolderLock(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw cannot_write_file(folder, error.value());
  const std::filesystem::path path = folder / ".lock";
  // O_NONBLOCK: a pipe in its place must not make the run wait.
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
  if (descriptor_ < 0) throw cannot_write_file(path, errno);
  // Network file systems without locks answer otherwise: there the user has to take care.
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(descriptor_);
  throw environment_error("another process is training into '" + folder.string() + "'",
                          folder.string(),
                          "wait for it or stop it, or choose another job.dump_folder");
}

FolderLock::~FolderLock() { ::close(descriptor_); }

}  // namespace titan::checkpoint
