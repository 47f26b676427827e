#include "commands/config_command.h"

#include <iostream>

#include "base/error.h"
#include "commands/model_setup.h"
#include "commands/plugin_setup.h"
#include "config/dump.h"
#include "config/explain.h"
#include "config/json_schema.h"
#include "train/model_args.h"

namespace titan::commands {
namespace {

void require_file(const ConfigArguments& arguments, const std::string& command) {
  if (arguments.file) return;
  throw usage_error(
      "no config file was given", "titan config " + command,
      "titan config " + command + " configs/llama3_debug.yaml [--section.key=value ...]");
}

}  // namespace

void config_show(const ConfigArguments& arguments, bool origins) {
  require_file(arguments, "show");
  const config::LoadedConfig config = config::load_config(arguments.file, arguments.overrides);
  const plugins::Catalog catalog = find_plugins(&config);
  std::cout << config::dump_config(config, resolve_without_loading(config, catalog), origins);
}

void config_check(const ConfigArguments& arguments) {
  require_file(arguments, "check");
  const config::LoadedConfig config = config::load_config(arguments.file, arguments.overrides);
  const plugins::Catalog catalog = find_plugins(&config);
  const auto requests = resolve_without_loading(config, catalog);
  const model::TrainSpecRegistry specs = train_specs();
  const model::TrainSpec& spec = specs.get(config.values.model.name);
  train::resolve_model_args(spec, with_hf_sizes(config, spec).values);
  std::cout << arguments.file->string() << " is a valid config; it applies ";
  if (requests.empty()) std::cout << "no converters";
  for (size_t i = 0; i < requests.size(); ++i) std::cout << (i ? ", " : "") << requests[i].instance;
  std::cout << "\n";
}

void config_explain(const ConfigArguments& arguments, const std::string& key) {
  const config::LoadedConfig config = config::load_config(arguments.file, arguments.overrides);
  std::cout << config::explain(key, find_plugins(&config).schemas());
}

void config_schema(const ConfigArguments& arguments) {
  const config::LoadedConfig config = config::load_config(arguments.file, arguments.overrides);
  std::cout << config::json_schema(find_plugins(&config).schemas());
}

}  // namespace titan::commands
