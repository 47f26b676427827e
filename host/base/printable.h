/// Text from files, plugins and users made safe to print.
#pragma once

#include <string>
#include <string_view>

namespace titan {

/// Keeps valid UTF-8 and newlines. Control characters, bytes that are no UTF-8 and marks that turn
/// the direction of writing become \xNN. Longer texts are cut at `max_bytes` (at a character's
/// edge) and end in "...".
std::string printable(std::string_view text, size_t max_bytes = 4096);

/// All of `text`, with U+FFFD for each byte that is no UTF-8: for formats that hold any text, but
/// UTF-8.
std::string with_valid_utf8(std::string_view text);

/// printable() for a path, in one line: a newline in it becomes \x0a, so that a name cannot forge a
/// line.
std::string printable_path(std::string_view path);
/// A path as one word for a shell, quoted, inside a command that a message proposes.
std::string shell_path(std::string_view path);

}  // namespace titan
