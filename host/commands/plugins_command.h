/// titan plugins list | inspect: what is found, and what is known about it without running it.
#pragma once

#include <string>

#include "commands/command.h"

namespace titan::commands {

void plugins_list(const ConfigArguments& arguments, bool json);
/// `what`: a file, or the name of a plugin or converter.
/// False if the file is refused or skipped.
bool plugins_inspect(const ConfigArguments& arguments, const std::string& what, bool json);
/// Prints the page of a plugin (plugins/plugin_page.h).
void plugins_page(const ConfigArguments& arguments, const std::string& what);

}  // namespace titan::commands
