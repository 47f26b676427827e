/// What is known about the terminal behind a file descriptor.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace titan {

bool is_terminal(int fd);

/// True if colours are welcome there: a terminal, TERM is not "dumb" and NO_COLOR is not set.
bool use_color(int fd);

/// Columns of the terminal; 80 if it is none or does not say.
size_t terminal_width(int fd);

/// Writes all of `text`, retrying after signals. Output that cannot be delivered (a closed pipe) is
/// dropped: a log line must not end a run.
void write_all(int fd, std::string_view text);

/// The number of columns `text` takes, counting each UTF-8 code point as one.
size_t display_width(std::string_view text);

/// `text` cut in the middle ("abc...xyz") to at most `width` columns, never inside a code point.
std::string elide_middle(std::string_view text, size_t width);

/// Opens /dev/null on each of the descriptors 0, 1 and 2 that is closed. Otherwise the next file to
/// be opened would get the number, and what is meant for the terminal would be written into it.
void open_standard_descriptors();

}  // namespace titan
