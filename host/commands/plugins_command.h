/// titan plugins list | inspect | why | doctor: what is found, and what is known about it.
#pragma once

#include <string>

#include "commands/command.h"

namespace titan::commands {

/// `dry`: no code of a plugin runs. Else files without a note are loaded, each in a process of its
/// own, to learn what they offer.
void plugins_list(const ConfigArguments& arguments, bool json, bool dry);
/// `what`: a file, or the name of a plugin or converter.
/// False if the file is refused or skipped.
bool plugins_inspect(const ConfigArguments& arguments, const std::string& what, bool json);
/// Prints the page of a plugin (plugins/plugin_page.h).
void plugins_page(const ConfigArguments& arguments, const std::string& what);

/// Every gate with its verdict, loading included. False unless one file is loadable and no other
/// offers the same.
bool plugins_why(const ConfigArguments& arguments, const std::string& what, bool json);
/// Facts of this titan and the load report of all files. False if there is a problem.
bool plugins_doctor(const ConfigArguments& arguments, bool json);

}  // namespace titan::commands
