#include "plugins/availability.h"

#include <algorithm>

#include "base/printable.h"
#include "base/suggest.h"
#include "plugins/probe.h"

namespace titan::plugins {
namespace {

/// Of a file that could not be read only the file's name can tell.
bool has_name(const CatalogEntry& entry, const std::string& name) {
  return entry.judged.description ? entry.is_called(name) : entry.candidate.path.stem() == name;
}

/// "float8 0.1.0 (/opt/float8.so)"
std::string entry_text(const CatalogEntry& entry) {
  const PluginDescription& plugin = *entry.judged.description;
  return plugin.name + (plugin.version.empty() ? " without a version" : " " + plugin.version) +
         " (" + printable_path(entry.candidate.path.native()) + ")";
}

std::string not_found_text(const Catalog& catalog, const std::string& name) {
  std::vector<std::string> names = catalog.converter_names();
  for (const CatalogEntry& entry : catalog.entries())
    if (entry.loadable()) names.push_back(entry.judged.description->name);
  std::string text = "no plugin or converter is called '" + printable(name, 80) + "'; ";
  text += did_you_mean(name, names);
  const auto refused = std::count_if(
      catalog.entries().begin(), catalog.entries().end(),
      [](const CatalogEntry& entry) { return entry.judged.verdict.outcome == Outcome::kRefused; });
  if (refused > 0) text += std::to_string(refused) + " refused, see titan plugins list; ";
  if (catalog.searched().empty()) return text + "no folder was searched";
  text += "searched";
  for (size_t i = 0; i < catalog.searched().size(); ++i)
    text += (i == 0 ? " " : ", ") + catalog.searched()[i];
  return text;
}

}  // namespace

Catalog with_called_probed(const Catalog& catalog, const std::string& name, const titan_host& host,
                           std::chrono::milliseconds limit) {
  // As training does: files without a note are tried only for what no note tells.
  const bool by_note = std::any_of(
      catalog.entries().begin(), catalog.entries().end(), [&](const CatalogEntry& entry) {
        return entry.loadable() && entry.judged.has_note() && has_name(entry, name);
      });
  const Catalog told = by_note ? catalog : probed(catalog, ProbeWhich::kWithoutNote, host, limit);
  std::vector<CatalogEntry> entries = told.entries();
  for (CatalogEntry& entry : entries)
    if (has_name(entry, name)) probe_plugin(entry.judged, host, limit);
  return Catalog(told.search(), std::move(entries));
}

std::string why_unavailable(const Catalog& catalog, const std::string& name,
                            const std::optional<PluginVersion>& at_least) {
  for (const DuplicateConverter& duplicate : catalog.duplicates()) {
    if (duplicate.name != name) continue;
    std::string text = "the converter '" + name + "' is in several files, so none can be used:";
    for (const std::string& path : duplicate.paths) text += " " + path;
    return text;
  }
  std::string older, refused;
  for (const CatalogEntry& entry : catalog.entries()) {
    if (!has_name(entry, name)) continue;
    if (!entry.loadable()) {
      refused += (refused.empty() ? "" : "; ") + printable_path(entry.candidate.path.native()) +
                 " is " + outcome_name(entry.judged.verdict.outcome) + ": it " +
                 entry.judged.verdict.reason_with_rule();
      continue;
    }
    if (!at_least) return {};
    const auto version = PluginVersion::parse(entry.judged.description->version);
    if (version && *version >= *at_least) return {};
    older += (older.empty() ? "" : ", ") + entry_text(entry);
  }
  std::string text = !older.empty()     ? "too old: found only " + older
                     : !refused.empty() ? refused
                                        : not_found_text(catalog, name);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace titan::plugins
