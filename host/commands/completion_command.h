/// `titan completion SHELL` and what its script asks for: words that go on with a command line.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace titan::commands {

/// Prints the script for "bash" or "zsh"; a usage error for any other shell.
void print_completion(const std::string& shell);

/// Prints what the last word of `line` could become, one a line: commands and flags of `app`, keys
/// of the config, converters of the plugins that this line would find, their options and values,
/// files. `line` ends at the cursor. `breaks`: the characters after which the shell begins another
/// word (COMP_WORDBREAKS of bash); what stands before the last of them is left out. Runs no plugin
/// code, throws nothing and says nothing about mistakes in the line, a config or a plugin.
void print_candidates(const CLI::App& app, const std::string& line, const std::string& breaks);

}  // namespace titan::commands
