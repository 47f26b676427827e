/// Lists of words inside a sentence or a command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace titan {

/// "a, b, c"; empty for none.
std::string joined(const std::vector<std::string>& items, std::string_view separator = ", ");

/// One word for a POSIX shell, quoted where needed.
std::string shell_word(std::string_view word);
/// `words` as a command line.
std::string shell_text(const std::vector<std::string>& words);

}  // namespace titan
