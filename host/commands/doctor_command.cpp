#include "commands/doctor_command.h"

#include <iostream>

#include "base/error.h"
#include "base/printable.h"
#include "base/text_list.h"
#include "commands/doctor_checks.h"
#include "commands/doctor_facts.h"
#include "commands/doctor_report.h"
#include "commands/plugin_setup.h"
#include "config/load.h"
#include "converters/plugin_converter.h"
#include "plugins/probe.h"
#include "train/device.h"

namespace titan::commands {
namespace {

PluginFacts plugin_facts(const config::LoadedConfig& config) {
  const plugins::Catalog catalog = plugins::probed(find_plugins(&config), plugins::ProbeWhich::kAll,
                                                   converters::host_table(), load_timeout(&config));
  PluginFacts facts;
  for (const plugins::CatalogEntry& entry : catalog.entries()) {
    const plugins::Verdict& verdict = entry.judged.verdict;
    if (entry.loadable())
      facts.names.push_back(
          printable_path(entry.judged.description->name + " " + entry.judged.description->version));
    if (verdict.outcome == plugins::Outcome::kRefused)
      facts.problems.push_back({"the plugin " + printable_path(entry.judged.path.native()) +
                                    " is refused: " + verdict.reason_with_rule(),
                                verdict.hint});
  }
  for (const plugins::DuplicateConverter& duplicate : catalog.duplicates())
    facts.problems.push_back(
        {"the converter '" + duplicate.name + "' is in " + joined(duplicate.paths, " and "),
         "remove all but one of them, or deny one (plugins.deny)"});
  for (const plugins::SearchNotice& notice : catalog.notices())
    facts.problems.push_back({notice.where + " " + notice.text, notice.hint});
  return facts;
}

}  // namespace

bool doctor(const ConfigArguments& arguments, bool json) {
  const config::LoadedConfig config = config::load_config(arguments.file, arguments.overrides);
  // Before LibTorch's CUDA library is opened: what is tried afterwards would be given a process
  // with its threads.
  const PluginFacts plugins = plugin_facts(config);
  DoctorFacts facts = gather_doctor_facts(config.values.job.dump_folder);
  facts.plugins = plugins;
  std::vector<Problem> problems = problems_of(facts);
  try {
    train::resolve_device(config.values.training.device);
  } catch (const Error& error) {
    problems.push_back({"training.device is " + config.values.training.device + ": " + error.what(),
                        error.hint()});
  }
  std::cout << (json ? doctor_json(facts, problems) + "\n" : doctor_text(facts, problems));
  return problems.empty();
}

}  // namespace titan::commands
