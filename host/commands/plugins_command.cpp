#include "commands/plugins_command.h"

#include <iostream>

#include "commands/plugin_setup.h"
#include "plugins/plugin_page.h"
#include "plugins/report.h"

namespace titan::commands {
namespace {

/// Only plugins.paths and plugins.policy of a config matter here; without one the defaults hold.
plugins::Catalog catalog_for(const ConfigArguments& arguments) {
  const config::LoadedConfig config = config::load_config(arguments.file, arguments.overrides);
  return find_plugins(&config);
}

}  // namespace

void plugins_list(const ConfigArguments& arguments, bool json) {
  const plugins::Catalog catalog = catalog_for(arguments);
  std::cout << (json ? plugins::list_json(catalog) + "\n" : plugins::list_text(catalog));
}

bool plugins_inspect(const ConfigArguments& arguments, const std::string& what, bool json) {
  const config::LoadedConfig config = config::load_config(arguments.file, arguments.overrides);
  const plugins::JudgedPlugin judged =
      plugins::find_for_inspection(find_plugins(&config), what, judge_options(&config));
  std::cout << (json ? plugins::inspect_json(judged) + "\n" : plugins::inspect_text(judged));
  return judged.verdict.outcome == plugins::Outcome::kLoadable;
}

void plugins_page(const ConfigArguments& arguments, const std::string& what) {
  const config::LoadedConfig config = config::load_config(arguments.file, arguments.overrides);
  std::cout << plugins::plugin_page(
      plugins::find_for_inspection(find_plugins(&config), what, judge_options(&config)));
}

}  // namespace titan::commands
