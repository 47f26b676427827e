#include "base/regular_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/file_kind.h"
#include "base/os_error.h"

namespace titan {
namespace {

Error cannot_open(const std::filesystem::path& path, std::string_view role, std::string_view hint,
                  int code) {
  const std::string what = "the " + std::string(role);
  if (code == ENOENT || code == ENOTDIR)
    return data_error(what + " '" + path.string() + "' does not exist", path.string(),
                      std::string(hint));
  if (code == EACCES || code == EPERM)
    return data_error(what + " '" + path.string() + "' cannot be read: permission denied",
                      path.string(), "give this user read permission for the file and its folders");
  // Opening a socket answers ENXIO.
  return data_error(what + " '" + path.string() + "' cannot be opened: " + std::strerror(code),
                    path.string(),
                    cure_of_os_error(code, "name a regular file that this user can read"));
}

}  // namespace

RegularFile RegularFile::open(const std::filesystem::path& path, std::string_view role,
                              std::string_view hint) {
  // Why O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) throw cannot_open(path, role, hint, errno);
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) {
    const int code = errno;
    ::close(descriptor);
    throw cannot_open(path, role, hint, code);
  }
  RegularFile file(path, std::string(role), descriptor, static_cast<int64_t>(status.st_size));
  if (!S_ISREG(status.st_mode))
    throw data_error("the " + file.role_ + " '" + path.string() + "' is " +
                         kind_of_file(status.st_mode) + ", a regular file is needed",
                     path.string(), "copy the data into a regular file and name that one");
  return file;
}

RegularFile::RegularFile(std::filesystem::path path, std::string role, int descriptor, int64_t size)
    : path_(std::move(path)), role_(std::move(role)), descriptor_(descriptor), size_(size) {}

RegularFile::RegularFile(RegularFile&& other) noexcept
    : path_(std::move(other.path_)),
      role_(std::move(other.role_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

RegularFile& RegularFile::operator=(RegularFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(role_, other.role_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

RegularFile::~RegularFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void RegularFile::read(int64_t offset, void* to, int64_t size) const {
  char* target = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t count = ::pread(descriptor_, target, static_cast<size_t>(size), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      throw data_error("reading the " + role_ + " failed at byte " + std::to_string(offset) + ": " +
                           std::strerror(errno),
                       path_.string(), "check the disk or the network share that holds the file");
    if (count == 0)
      throw data_error("the " + role_ + " ends at byte " + std::to_string(offset) + ", it had " +
                           std::to_string(size_) + " bytes when it was opened",
                       path_.string(), "keep the file unchanged while titan reads it");
    target += count;
    offset += count;
    size -= count;
  }
}

std::string RegularFile::text() const {
  std::string text(static_cast<size_t>(size_), '\0');
  read(0, text.data(), size_);
  return text;
}

std::shared_ptr<char> RegularFile::map() const {
  if (size_ == 0) return nullptr;
  const size_t size = static_cast<size_t>(size_);
  // Why writable and private: a tensor over the map may be changed in place; the file never is.
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor_, 0);
  if (memory == MAP_FAILED)
    throw data_error("the " + role_ + " of " + std::to_string(size_) +
                         " bytes cannot be mapped into memory: " + std::strerror(errno),
                     path_.string(), "check 'ulimit -v' and the memory limit of the container");
  return std::shared_ptr<char>(static_cast<char*>(memory),
                               [size](char* address) { ::munmap(address, size); });
}

}  // namespace titan
