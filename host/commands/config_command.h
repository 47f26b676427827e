/// titan config show | check | explain | schema: what a config means, without running anything.
#pragma once

#include <string>

#include "commands/command.h"

namespace titan::commands {

/// Prints the merged config as YAML that is a config again; with `origins`, where values come from.
void config_show(const ConfigArguments& arguments, bool origins);
/// Throws the first error of a config, or says that it is good.
void config_check(const ConfigArguments& arguments);
/// `key`: "section.key", a section, a converter or one of its options; "" for everything.
void config_explain(const ConfigArguments& arguments, const std::string& key);
/// Prints a JSON Schema of config files, with a section for each converter that was found.
void config_schema(const ConfigArguments& arguments);

}  // namespace titan::commands
