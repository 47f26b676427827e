#include "commands/plugins_command.h"

#include <gnu/libc-version.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <vector>

#include "base/printable.h"
#include "commands/plugin_setup.h"
#include "converters/plugin_converter.h"
#include "plugins/elf_file.h"
#include "plugins/load_report.h"
#include "plugins/plugin_page.h"
#include "plugins/probe.h"
#include "plugins/report.h"
#include "titan/version.h"

namespace titan::commands {
namespace {

/// Only the section "plugins" of a config matters here; without one the defaults hold.
config::LoadedConfig load(const ConfigArguments& arguments) {
  return config::load_config(arguments.file, arguments.overrides);
}

/// What a report about a machine that is not at hand has to say.
plugins::HostFacts host_facts() {
  const char* variable = std::getenv("TITAN_PLUGIN_PATH");
  std::error_code unknown;
  return {{"titan", TITAN_SDK_VERSION ", plugin API level " + std::to_string(TITAN_API_LEVEL)},
          {"program", printable(std::filesystem::read_symlink("/proc/self/exe", unknown).native())},
          {"LibTorch", TITAN_TORCH_VERSION " (" TITAN_TORCH_BUILD ")"},
          {"machine",
           plugins::machine_name(plugins::this_machine()) + ", glibc " + gnu_get_libc_version()},
          {"TITAN_PLUGIN_PATH", variable ? printable(variable) : "not set"}};
}

}  // namespace

void plugins_list(const ConfigArguments& arguments, bool json, bool dry) {
  const config::LoadedConfig config = load(arguments);
  plugins::Catalog catalog = find_plugins(&config);
  if (!dry)
    catalog = plugins::probed(catalog, plugins::ProbeWhich::kWithoutNote, converters::host_table(),
                              load_timeout(&config));
  std::cout << (json ? plugins::list_json(catalog) + "\n" : plugins::list_text(catalog));
}

bool plugins_inspect(const ConfigArguments& arguments, const std::string& what, bool json) {
  const config::LoadedConfig config = load(arguments);
  plugins::JudgeOptions options = judge_options(&config);
  options.with_sha256 = true;
  const plugins::JudgedPlugin judged =
      plugins::find_for_inspection(find_plugins(&config), what, options);
  std::cout << (json ? plugins::inspect_json(judged) + "\n" : plugins::inspect_text(judged));
  return judged.verdict.outcome == plugins::Outcome::kLoadable;
}

void plugins_page(const ConfigArguments& arguments, const std::string& what) {
  const config::LoadedConfig config = config::load_config(arguments.file, arguments.overrides);
  std::cout << plugins::plugin_page(
      plugins::find_for_inspection(find_plugins(&config), what, judge_options(&config)));
}

bool plugins_why(const ConfigArguments& arguments, const std::string& what, bool json) {
  const config::LoadedConfig config = load(arguments);
  // What files without a note offer is known only afterwards, and `what` may be that.
  const plugins::Catalog catalog =
      plugins::probed(find_plugins(&config), plugins::ProbeWhich::kWithoutNote,
                      converters::host_table(), load_timeout(&config));
  std::vector<plugins::CatalogEntry> entries =
      plugins::entries_called(catalog, what, judge_options(&config));
  for (plugins::CatalogEntry& entry : entries)
    plugins::probe_plugin(entry.judged, converters::host_table(), load_timeout(&config));
  std::cout << (json ? plugins::why_json(catalog, entries) + "\n"
                     : plugins::why_text(catalog, entries));
  return std::count_if(entries.begin(), entries.end(),
                       [](const auto& entry) { return entry.loadable(); }) == 1;
}

bool plugins_doctor(const ConfigArguments& arguments, bool json) {
  const config::LoadedConfig config = load(arguments);
  const plugins::Catalog catalog = plugins::probed(find_plugins(&config), plugins::ProbeWhich::kAll,
                                                   converters::host_table(), load_timeout(&config));
  std::cout << (json ? plugins::doctor_json(catalog, host_facts()) + "\n"
                     : plugins::doctor_text(catalog, host_facts()));
  return plugins::problem_count(catalog) == 0;
}

}  // namespace titan::commands
