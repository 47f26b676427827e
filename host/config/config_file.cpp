/// The file side of the YAML reader: opening, limits, text encoding.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/suggest.h"
#include "config/yaml_reader.h"

namespace titan::config {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

/// "did you mean 'x.yaml'? " from the names beside the missing file.
std::string suggest_sibling(const std::filesystem::path& path) {
  const std::filesystem::path folder =
      path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  std::vector<std::string> names;
  std::error_code ignored;
  for (std::filesystem::directory_iterator it(folder, ignored), end; it != end && !ignored;
       it.increment(ignored)) {
    const std::string extension = it->path().extension().string();
    if (extension == ".yaml" || extension == ".yml")
      names.push_back(it->path().filename().string());
    if (names.size() >= 1000) break;
  }
  return did_you_mean(path.filename().string(), names);
}

/// The length of the UTF-8 sequence at `i`, or 0 if it is malformed, overlong or a surrogate.
size_t utf8_length(const std::string& text, size_t i) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char lead = byte(i);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || i + length > text.size()) return 0;
  for (size_t k = i + 1; k < i + length; ++k)
    if ((byte(k) & 0xC0) != 0x80) return 0;
  const unsigned char second = byte(i + 1);
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
      (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F))
    return 0;
  return length;
}

}  // namespace

size_t find_bad_byte(const std::string& text) {
  for (size_t i = 0; i < text.size();) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    const bool control = (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F;
    const size_t length = control ? 0 : utf8_length(text, i);
    if (length == 0) return i;
    i += length;
  }
  return std::string::npos;
}

std::string read_config_file(const std::filesystem::path& path) {
  const std::string name = path.string();
  // Why O_NONBLOCK: opening a named pipe would wait for a writer.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    const int reason = errno;
    throw usage_error("the config file cannot be opened: " + std::string(std::strerror(reason)),
                      name,
                      suggest_sibling(path) + "the shipped examples are in the folder configs/");
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    throw usage_error("the config is not a regular file", name,
                      "name a YAML file, not a folder, pipe or device");
  std::string text;
  std::string block(64 * 1024, '\0');
  while (text.size() <= kMaxConfigBytes) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw usage_error("the config file cannot be read: " + std::string(std::strerror(errno)),
                        name, "check that the file is readable");
    if (got == 0) return text;
    text.append(block, 0, static_cast<size_t>(got));
  }
  throw usage_error("the config file is larger than 1 MiB", name,
                    "this is hardly a config; check the file name");
}

}  // namespace titan::config
