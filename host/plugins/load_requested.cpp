/// From converter names to loaded plugins.
#include "plugins/load_requested.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/printable.h"

namespace titan::plugins {
namespace {

bool offers(const LoadedPlugin& plugin, const std::string& converter) {
  return std::any_of(plugin.converters.begin(), plugin.converters.end(),
                     [&](const titan_converter& c) {
                       return std::string_view(c.name.data, c.name.size) == converter;
                     });
}

/// The plugins loaded so far, in order.
class LoadedSet {
 public:
  explicit LoadedSet(const titan_host& host) : host_(host) {}

  const LoadedPlugin& load(const JudgedPlugin& judged) {
    for (const LoadedPlugin& plugin : plugins_)
      if (plugin.path == judged.path) return plugin;
    LoadedPlugin plugin = load_plugin(judged, host_);
    for (const std::string& warning : judged.verdict.warnings)
      log_warning(plugin_place(judged) + ": " + warning);
    // Names of plugins without a note are compared only now.
    for (const LoadedPlugin& other : plugins_)
      for (const config::ConverterSchema& schema : plugin.description.converters)
        if (offers(other, schema.name))
          throw usage_error("the converter '" + schema.name + "' is offered by " +
                                printable(other.path.native()) + " and " +
                                printable(plugin.path.native()) + " [" +
                                rule_name(Rule::kTransaction) + "]",
                            "model.converters", "remove one of them");
    plugins_.push_back(std::move(plugin));
    return plugins_.back();
  }
  const std::vector<LoadedPlugin>& plugins() const { return plugins_; }

 private:
  const titan_host& host_;
  std::vector<LoadedPlugin> plugins_;
};

/// Loads plugins without a note until one offers `converter`.
bool load_without_note(const Catalog& catalog, const std::string& converter, LoadedSet& loaded) {
  for (const CatalogEntry* entry : catalog.without_note()) {
    try {
      if (offers(loaded.load(entry->judged), converter)) return true;
    } catch (const Error& error) {
      // It may not be the one that is wanted: say so and go on.
      log_warning(error.where() + ": " + error.what());
    }
  }
  return false;
}

}  // namespace

std::vector<LoadedPlugin> load_requested(const Catalog& catalog,
                                         const std::vector<std::string>& converters,
                                         const std::vector<std::string>& built_in,
                                         const titan_host& host) {
  LoadedSet loaded(host);
  for (const std::string& converter : converters) {
    if (std::find(built_in.begin(), built_in.end(), converter) != built_in.end()) continue;
    if (const CatalogEntry* entry = catalog.require(converter))
      loaded.load(entry->judged);
    else if (!load_without_note(catalog, converter, loaded))
      throw catalog.missing(converter, built_in);
  }
  return loaded.plugins();
}

}  // namespace titan::plugins
