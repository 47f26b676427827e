#include "base/output_file.h"

#include <sys/stat.h>

#include "base/error.h"
#include "base/file_kind.h"

namespace titan {

std::optional<FileIdentity> file_identity(const std::filesystem::path& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileIdentity{static_cast<uint64_t>(status.st_dev), static_cast<uint64_t>(status.st_ino)};
}

bool check_output_path(const std::filesystem::path& path, const std::string& where) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) {
    if (::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode))
      throw usage_error("the output '" + path.string() + "' is a link to a file that is not there",
                        where, "remove the link, or name the file itself");
    return false;
  }
  if (S_ISREG(status.st_mode)) return true;
  throw usage_error("the output '" + path.string() + "' is " + kind_of_file(status.st_mode) +
                        ", a regular file is needed",
                    where,
                    S_ISDIR(status.st_mode) ? "name a file in it"
                                            : "name another file, or one that is not there yet");
}

}  // namespace titan
