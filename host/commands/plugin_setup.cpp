#include "commands/plugin_setup.h"

#include "base/log.h"
#include "commands/environment.h"
#include "config/resolve.h"
#include "converters/plugin_converter.h"
#include "plugins/load_requested.h"

namespace titan::commands {

namespace {

/// A place that was named and cannot be searched is a mistake, also where no converter is missed
/// yet.
void warn_about_search(const plugins::Catalog& catalog) {
  for (const plugins::SearchNotice& notice : catalog.notices())
    log_warning(notice.where + " " + notice.text + "; " + notice.hint);
}

}  // namespace

plugins::JudgeOptions judge_options(const config::LoadedConfig* config) {
  plugins::JudgeOptions judge;
  judge.torch_version = TITAN_TORCH_VERSION;
  judge.torch_build = TITAN_TORCH_BUILD;
  if (config) {
    const config::Plugins& plugins = config->values.plugins;
    judge.strict = plugins.policy == "strict";
    judge.policy = plugins::Policy(plugins.allow, plugins.deny, plugins.sha256);
  }
  return judge;
}

std::chrono::seconds load_timeout(const config::LoadedConfig* config) {
  return config ? std::chrono::seconds(config->values.plugins.load_timeout_seconds)
                : plugins::kLoadTimeout;
}

plugins::Catalog find_plugins(const config::LoadedConfig* config) {
  plugins::SearchOptions search;
  if (config)
    for (const std::string& path : config->values.plugins.paths) search.paths.emplace_back(path);
  search.from_environment();
  search.installation = installed_plugin_folder();
  return plugins::scan(search, judge_options(config));
}

AppliedConverters load_converters(const config::LoadedConfig& config,
                                  const plugins::Catalog& catalog, converters::Registry built_in) {
  warn_about_search(catalog);
  AppliedConverters applied{std::move(built_in), {}, {}};
  std::vector<config::ConverterSchema> schemas = applied.registry.schemas();
  std::vector<std::string> built_in_names;
  for (const auto& schema : schemas) built_in_names.push_back(schema.name);

  const std::vector<std::string> wanted = config::requested_converters(config);
  const auto loaded = plugins::load_requested(catalog, wanted, built_in_names,
                                              converters::host_table(), load_timeout(&config));
  for (const plugins::LoadedPlugin& plugin : loaded) {
    log_info("plugin " + plugin.description.name + " " + plugin.description.version + " from " +
             plugin.path.string());
    for (const titan_converter& table : plugin.converters) {
      const std::string name(table.name.data, table.name.size);
      applied.plugins[name] = {"",
                               name,
                               plugin.description.name,
                               plugin.description.version,
                               plugin.path.string(),
                               plugin.sha256};
    }
    converters::register_plugin(applied.registry, plugin);
  }
  applied.registry.freeze();

  // Sections of plugins that are found but not used are checked too; loaded ones know best.
  std::vector<config::ConverterSchema> known = applied.registry.schemas();
  for (const auto& schema : catalog.known_schemas()) {
    const bool loaded_already = applied.registry.find(schema.name) != nullptr;
    if (!loaded_already) known.push_back(schema);
  }
  applied.requests = config::resolve_converters(config, known);
  return applied;
}

std::vector<config::ConverterRequest> resolve_without_loading(const config::LoadedConfig& config,
                                                              const plugins::Catalog& catalog) {
  warn_about_search(catalog);
  for (const std::string& name : config::requested_converters(config))
    if (!catalog.require(name)) throw catalog.missing(name);
  return config::resolve_converters(config, catalog.known_schemas());
}

}  // namespace titan::commands
