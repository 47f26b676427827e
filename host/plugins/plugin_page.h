/// `titan plugins inspect --markdown`: a page about a plugin, from its note alone.
#pragma once

#include <string>

#include "plugins/judge.h"

namespace titan::plugins {

/// Markdown with the plugin's facts, its converters, every option and a command that uses it.
/// Nothing in it depends on where the file lies or on this machine. A usage error if the file is
/// refused or has no note: then there is nothing to tell.
std::string plugin_page(const JudgedPlugin& judged);

}  // namespace titan::plugins
