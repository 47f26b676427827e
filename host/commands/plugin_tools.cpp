#include "commands/plugin_tools.h"

#include <CLI/CLI.hpp>

#include <iostream>

#include "base/error.h"
#include "base/printable.h"
#include "commands/new_plugin_command.h"
#include "commands/plugin_setup.h"
#include "converters/plugin_converter.h"
#include "plugins/availability.h"

namespace titan::commands {
namespace {

constexpr const char* kHasPlugin = "titan plugins has";

bool plugins_has(const ConfigArguments& arguments, const std::string& name,
                 const std::string& at_least) {
  if (name.empty())
    throw usage_error("no plugin was named", kHasPlugin, "titan plugins has NAME [--at-least 0.2]");
  std::optional<plugins::PluginVersion> version;
  if (!at_least.empty()) {
    version = plugins::PluginVersion::parse(at_least);
    if (!version)
      throw usage_error(
          "'" + printable(at_least, 80) + "' is not a version", kHasPlugin,
          "write MAJOR.MINOR.PATCH, for example --at-least 1.2.0; the last parts may be left out");
  }
  const config::LoadedConfig config = config::load_config(arguments.file, arguments.overrides);
  const plugins::Catalog catalog = plugins::with_called_probed(
      find_plugins(&config), name, converters::host_table(), load_timeout(&config));
  const std::string problem = plugins::why_unavailable(catalog, name, version);
  if (!problem.empty()) std::cerr << problem << "\n";
  return problem.empty();
}

}  // namespace

PluginTools::PluginTools(CLI::App& plugins)
    : new_app_(plugins.add_subcommand(
          "new",
          "writes the project of a new plugin: NAME [--language c|cpp|torch] [--folder DIR]")),
      has_app_(plugins.add_subcommand(
          "has",
          "status 0 if the plugin or converter can be used, else 1: NAME [--at-least VERSION]")) {
  new_app_->add_option("plugin", new_name_, "its name, which is also its converter's");
  new_app_->add_option(
      "--language", language_,
      "c (libc alone), cpp (C++, no LibTorch; the default) or torch (LibTorch's stable ABI)");
  new_app_->add_option("--folder", folder_,
                       "where the project goes; default: a folder of that name");
  has_app_->add_option("name", wanted_, "of a plugin or converter");
  has_app_->add_option("--at-least", at_least_, "the oldest version that will do");
  has_app_->allow_extras();
}

std::optional<int> PluginTools::run(const Arguments& arguments) const {
  if (*new_app_) {
    new_plugin(new_name_, language_, folder_);
    return 0;
  }
  if (*has_app_)
    return plugins_has(arguments(has_app_->remaining(), "plugins has"), wanted_, at_least_) ? 0 : 1;
  return std::nullopt;
}

}  // namespace titan::commands
