#include "observe/append_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/os_error.h"

namespace titan::observe {

Error cannot_write(const std::filesystem::path& path, int code) {
  // A pipe answers ENXIO when nobody reads it.
  const std::string reason = code == ENXIO ? "it is a pipe or a device" : std::strerror(code);
  return environment_error("cannot write " + path.string() + ": " + reason, path.string(),
                           cure_of_os_error(code, "choose another folder with job.dump_folder"));
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw cannot_write(folder, error.value());
}

void append(int descriptor, const std::filesystem::path& path, std::string_view bytes) {
  struct stat info {};
  if (fstat(descriptor, &info) == 0 && info.st_nlink == 0)
    throw environment_error(path.string() + " was deleted while the run wrote it", path.string(),
                            "leave job.dump_folder in place until the run is over");
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw cannot_write(path, errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace titan::observe
