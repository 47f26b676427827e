/// From a config to the converters it may apply: search, judge, resolve, load, register.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/manifest.h"
#include "config/load.h"
#include "config/option_schema.h"
#include "converters/registry.h"
#include "plugins/catalog.h"

namespace titan::commands {

/// What plugins are judged by: this program's LibTorch and its section "plugins".
plugins::JudgeOptions judge_options(const config::LoadedConfig* config);

/// plugins.load_timeout_seconds.
std::chrono::seconds load_timeout(const config::LoadedConfig* config);

/// Where to look for plugins, and how strictly; without a config only the environment and the
/// installation are searched.
plugins::Catalog find_plugins(const config::LoadedConfig* config);

struct AppliedConverters {
  converters::Registry registry;  ///< frozen; holds what the config uses and nothing else
  std::vector<config::ConverterRequest> requests;
  /// The plugin that each converter comes from, by the converter's name; built-in ones are absent.
  std::map<std::string, checkpoint::ConverterRecord> plugins;
};

/// Resolves model.converters against what was found, loads only the plugins it uses and registers
/// their converters. Converters of `registry` (built in) take part under their names.
AppliedConverters load_converters(const config::LoadedConfig& config,
                                  const plugins::Catalog& catalog,
                                  converters::Registry built_in = {});

/// Resolves model.converters from the notes of the plugins that were found: no plugin code runs.
/// A plugin without a note tells its options only when it is loaded, so it cannot be used here.
std::vector<config::ConverterRequest> resolve_without_loading(const config::LoadedConfig& config,
                                                              const plugins::Catalog& catalog);

}  // namespace titan::commands
