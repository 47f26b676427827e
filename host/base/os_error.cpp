#include "base/os_error.h"

#include <cerrno>

namespace titan {

std::string cure_of_os_error(int code, std::string_view otherwise) {
  switch (code) {
    case EMFILE: return "this process may open no more files: raise 'ulimit -n'";
    case ENFILE: return "the machine has too many open files: close programs or raise fs.file-max";
    case EBADF:
      return "something in this process, perhaps a plugin, closed a file that is not its own";
    case ENOSPC:
    case EDQUOT: return "free space on the disk, or name a folder on another one";
    case EFBIG:
      return "the file would be larger than allowed: raise 'ulimit -f', or free space on its disk";
    case EROFS: return "the disk is mounted read-only: name a folder on another one";
    case EIO: return "the disk reports an error: see dmesg, and use another disk";
    case ENOMEM: return "the machine is out of memory: close programs";
    case ELOOP:
      return "a symbolic link leads back to itself: correct it or name the file it should lead to";
    case ENAMETOOLONG: return "use a shorter name";
    default: return std::string(otherwise);
  }
}

}  // namespace titan
