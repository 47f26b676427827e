/// What messages call files that are no regular files.
#pragma once

#include <sys/stat.h>

namespace titan {

/// "a folder", "a pipe", "a socket" or "a device", from st_mode of stat(2).
inline const char* kind_of_file(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace titan
