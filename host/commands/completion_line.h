/// A command line up to the cursor, as words; and files whose names could go on with a word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace titan::commands {

/// Splits as a POSIX shell does, without expanding anything. Assignments before the command are
/// left out.
struct CompletionLine {
  explicit CompletionLine(std::string_view line);
  const std::string& current() const { return words.back(); }
  /// At least one; the last one is empty if the line ends in a blank.
  std::vector<std::string> words;
};

/// Files with one of these endings, and folders (ending in '/'), that begin with `current`. "~/" is
/// kept as it was typed. Hidden ones only if their dot was typed.
std::vector<std::string> files_ending_in(const std::vector<std::string>& endings,
                                         const std::string& current);

/// Whether the program takes a word for a config file, whatever stands before it.
bool is_config_file_name(std::string_view word);

/// No control characters: it is one line, and shows nothing else than it is.
bool is_one_printable_line(std::string_view text);

}  // namespace titan::commands
