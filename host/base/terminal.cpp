#include "base/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace titan {
namespace {

bool is_continuation_byte(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// The byte length of the first `count` code points of `text`.
size_t prefix_bytes(std::string_view text, size_t count) {
  size_t i = 0;
  while (i < text.size() && count > 0) {
    ++i;
    while (i < text.size() && is_continuation_byte(text[i])) ++i;
    --count;
  }
  return i;
}

}  // namespace

bool is_terminal(int fd) { return isatty(fd) == 1; }

bool use_color(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  if (term != nullptr && std::string_view(term) == "dumb") return false;
  return is_terminal(fd);
}

size_t terminal_width(int fd) {
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

size_t display_width(std::string_view text) {
  size_t width = 0;
  for (const char c : text) width += is_continuation_byte(c) ? 0 : 1;
  return width;
}

std::string elide_middle(std::string_view text, size_t width) {
  const size_t length = display_width(text);
  if (length <= width) return std::string(text);
  if (width <= 3) return std::string(text.substr(0, prefix_bytes(text, width)));
  const size_t head = (width - 3 + 1) / 2;
  const size_t tail = width - 3 - head;
  return std::string(text.substr(0, prefix_bytes(text, head))) + "..." +
         std::string(text.substr(prefix_bytes(text, length - tail)));
}

void open_standard_descriptors() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (fcntl(descriptor, F_GETFD) == -1 && errno == EBADF) {
      // The lowest free number is this one: those below it are open by now.
      const int opened = open("/dev/null", descriptor == 0 ? O_RDONLY : O_WRONLY);
      if (opened < 0) return;
    }
}

}  // namespace titan
