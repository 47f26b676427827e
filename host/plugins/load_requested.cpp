/// From converter names to loaded plugins.
#include "plugins/load_requested.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/printable.h"

namespace titan::plugins {
namespace {

/// The plugins loaded so far, in order.
class LoadedSet {
 public:
  LoadedSet(const titan_host& host, std::chrono::milliseconds limit) : host_(host), limit_(limit) {}

  void load(JudgedPlugin judged) {
    for (const LoadedPlugin& plugin : plugins_)
      if (plugin.path == judged.path) return;
    probe_plugin(judged, host_, limit_);
    LoadedPlugin plugin = load_plugin(judged, host_);
    for (const std::string& warning : judged.verdict.warnings)
      log_warning(plugin_place(judged) + ": " + warning);
    plugins_.push_back(std::move(plugin));
  }
  const std::vector<LoadedPlugin>& plugins() const { return plugins_; }

 private:
  const titan_host& host_;
  std::chrono::milliseconds limit_;
  std::vector<LoadedPlugin> plugins_;
};

/// What plugins without a note offer, each tried in a process of its own.
Catalog with_all_offers(const Catalog& catalog, const titan_host& host,
                        std::chrono::milliseconds limit) {
  Catalog wider = probed(catalog, ProbeWhich::kWithoutNote, host, limit);
  for (size_t i = 0; i < wider.entries().size(); ++i)
    // It may not be the one that is wanted: say so and go on.
    if (const CatalogEntry& entry = wider.entries()[i];
        !entry.loadable() && catalog.entries()[i].loadable())
      log_warning(plugin_place(entry.judged) + ": " + entry.judged.verdict.reason_with_rule());
  return wider;
}

}  // namespace

std::vector<LoadedPlugin> load_requested(const Catalog& catalog,
                                         const std::vector<std::string>& converters,
                                         const std::vector<std::string>& built_in,
                                         const titan_host& host, std::chrono::milliseconds limit) {
  LoadedSet loaded(host, limit);
  std::optional<Catalog> wider;
  for (const std::string& converter : converters) {
    if (std::find(built_in.begin(), built_in.end(), converter) != built_in.end()) continue;
    const CatalogEntry* entry = (wider ? *wider : catalog).require(converter);
    if (!entry && !wider) {
      wider = with_all_offers(catalog, host, limit);
      entry = wider->require(converter);
    }
    if (!entry) throw wider->missing(converter, built_in);
    for (const CatalogEntry* refused : catalog.refused_with(converter))
      log_warning(plugin_place(refused->judged) + " has the converter '" + converter +
                  "' too, but " + refused->judged.verdict.reason_with_rule() + "; used is " +
                  printable_path(entry->judged.path.native()));
    loaded.load(entry->judged);
  }
  return loaded.plugins();
}

}  // namespace titan::plugins
