/// Scan and lookup.
#include "plugins/catalog.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/printable.h"
#include "base/sha256.h"
#include "base/suggest.h"
#include "base/text_list.h"
#include "plugins/file_bytes.h"

namespace titan::plugins {
namespace {

std::string entry_path(const CatalogEntry& entry) {
  return printable_path(entry.judged.path.native());
}

}  // namespace

bool CatalogEntry::lists(std::string_view converter) const {
  if (!judged.description) return false;
  const auto& list = judged.description->converters;
  return std::any_of(list.begin(), list.end(),
                     [&](const auto& schema) { return schema.name == converter; });
}

bool CatalogEntry::is_called(std::string_view name) const {
  return lists(name) || (judged.description && judged.description->name == name);
}

Catalog::Catalog(SearchResult search, std::vector<CatalogEntry> entries)
    : search_(std::move(search)), entries_(std::move(entries)) {
  for (const std::string& name : converter_names()) {
    const auto offers = find(name);
    if (offers.size() < 2) continue;
    DuplicateConverter duplicate{name, {}};
    for (const CatalogEntry* entry : offers) duplicate.paths.push_back(entry_path(*entry));
    duplicates_.push_back(std::move(duplicate));
  }
}

std::vector<const CatalogEntry*> Catalog::find(std::string_view converter) const {
  std::vector<const CatalogEntry*> found;
  for (const CatalogEntry& entry : entries_)
    if (entry.loadable() && entry.lists(converter)) found.push_back(&entry);
  return found;
}

std::vector<const CatalogEntry*> Catalog::refused_with(std::string_view converter) const {
  std::vector<const CatalogEntry*> found;
  for (const CatalogEntry& entry : entries_)
    if (entry.judged.verdict.outcome == Outcome::kRefused && entry.lists(converter))
      found.push_back(&entry);
  return found;
}

std::vector<const CatalogEntry*> Catalog::without_note() const {
  std::vector<const CatalogEntry*> found;
  for (const CatalogEntry& entry : entries_)
    if (entry.loadable() && !entry.judged.has_note()) found.push_back(&entry);
  return found;
}

namespace {

/// Adds the converters of an entry whose names are not there yet.
void add_schemas(const CatalogEntry& entry, const std::string& remark,
                 std::vector<config::ConverterSchema>& schemas) {
  if (!entry.judged.description) return;
  for (config::ConverterSchema schema : entry.judged.description->converters) {
    if (std::any_of(schemas.begin(), schemas.end(),
                    [&](const auto& known) { return known.name == schema.name; }))
      continue;
    schema.origin += remark;
    schemas.push_back(std::move(schema));
  }
}

}  // namespace

std::vector<config::ConverterSchema> Catalog::schemas() const {
  std::vector<config::ConverterSchema> schemas;
  for (const CatalogEntry& entry : entries_)
    if (entry.loadable()) add_schemas(entry, "", schemas);
  return schemas;
}

std::vector<config::ConverterSchema> Catalog::known_schemas() const {
  std::vector<config::ConverterSchema> known = schemas();
  for (const CatalogEntry& entry : entries_)
    if (!entry.loadable())
      add_schemas(entry, ", " + outcome_name(entry.judged.verdict.outcome), known);
  return known;
}

std::vector<std::string> Catalog::converter_names() const {
  std::vector<std::string> names;
  for (const config::ConverterSchema& schema : schemas()) names.push_back(schema.name);
  return names;
}

const CatalogEntry* Catalog::require(const std::string& converter) const {
  const auto offers = find(converter);
  if (offers.empty()) return nullptr;
  if (offers.size() == 1) return offers.front();
  std::vector<std::string> paths;
  for (const CatalogEntry* entry : offers) paths.push_back(entry_path(*entry));
  throw usage_error(
      "the converter '" + converter + "' is offered by " + std::to_string(paths.size()) +
          " files: " + joined(paths) + " [" + rule_name(Rule::kTransaction) + "]",
      "model.converters",
      "remove all but one of them, or search only one of their folders (plugins.paths, "
      "TITAN_PLUGIN_PATH)");
}

Error Catalog::missing(const std::string& converter,
                       const std::vector<std::string>& other_names) const {
  const std::string where =
      search_.searched.empty() ? "no folder was searched" : "searched " + joined(search_.searched);
  // A file that has it but may not be used is the best answer.
  for (const CatalogEntry& entry : entries_)
    if (!entry.loadable() && entry.lists(converter))
      return usage_error("the converter '" + converter + "' is in " + entry_path(entry) +
                             ", which was " + outcome_name(entry.judged.verdict.outcome) + ": it " +
                             entry.judged.verdict.reason_with_rule(),
                         where, entry.judged.verdict.hint);

  std::string text = "there is no converter '" + printable(converter, 80) + "'";
  std::vector<std::string> names = converter_names();
  names.insert(names.end(), other_names.begin(), other_names.end());
  text += names.empty() ? "; none was found" : "; found: " + joined(names);
  for (const CatalogEntry& entry : entries_)
    if (!entry.loadable())
      text += "\n  " + entry_path(entry) + " was " + outcome_name(entry.judged.verdict.outcome) +
              ": it " + entry.judged.verdict.reason_with_rule();
  for (const SearchNotice& notice : search_.notices)
    text += "\n  " + notice.where + " " + notice.text;

  std::string hint = did_you_mean(converter, names);
  if (search_.searched.empty())
    hint += "name the folder of its .so file in plugins.paths or TITAN_PLUGIN_PATH";
  else
    hint +=
        "put its .so file into a searched folder (not below one: subfolders are not searched); "
        "titan plugins list shows what is there";
  return usage_error(text, where, hint);
}

namespace {

/// The same file under two names, on two inodes: offering everything twice, it would conflict with
/// itself.
void skip_copies(std::vector<CatalogEntry>& entries) {
  struct Seen {
    const CatalogEntry* entry;
    std::string sha256;
  };
  std::multimap<uint64_t, Seen> by_size;
  for (CatalogEntry& entry : entries) {
    if (!entry.loadable()) continue;
    const auto hash_of = [](const CatalogEntry& of) {
      const OpenedFile file = open_regular_file(of.judged.path);
      return file.problem.empty() ? sha256_hex(read_bytes(file, of.judged.path)) : std::string();
    };
    const auto [first, last] = by_size.equal_range(entry.judged.identity.size);
    std::string own;
    const CatalogEntry* original = nullptr;
    for (auto seen = first; seen != last && !original; ++seen) {
      // Two files of one size are rare: only then is anything hashed.
      if (own.empty()) own = hash_of(entry);
      if (seen->second.sha256.empty()) seen->second.sha256 = hash_of(*seen->second.entry);
      if (!own.empty() && own == seen->second.sha256) original = seen->second.entry;
    }
    if (original)
      entry.judged.add({Gate::kRegister, Outcome::kSkipped, "is a copy of " + entry_path(*original),
                        "nothing to do; remove one of the two to see only one",
                        Rule::kTransaction});
    else
      by_size.emplace(entry.judged.identity.size, Seen{&entry, own});
  }
}

/// What is named in the config or the environment goes before what the installation brings along: a
/// new build can be tried beside the installed one.
void set_installed_aside(std::vector<CatalogEntry>& entries) {
  const auto named = [&](const CatalogEntry& installed) -> const CatalogEntry* {
    for (const CatalogEntry& entry : entries)
      if (entry.loadable() && entry.judged.has_note() &&
          entry.candidate.origin != Origin::kInstallation &&
          entry.judged.description->name == installed.judged.description->name)
        return &entry;
    return nullptr;
  };
  for (CatalogEntry& entry : entries) {
    if (!entry.loadable() || !entry.judged.has_note() ||
        entry.candidate.origin != Origin::kInstallation)
      continue;
    if (const CatalogEntry* instead = named(entry))
      entry.judged.add({Gate::kRegister, Outcome::kSkipped,
                        "is set aside: " + entry_path(*instead) + ", found through " +
                            origin_name(instead->candidate.origin) +
                            ", is the same plugin and goes before the installation",
                        "take that place out of the search to use the installed one",
                        Rule::kTransaction});
  }
}

}  // namespace

Catalog scan(const SearchOptions& search_options, const JudgeOptions& judge_options) {
  SearchResult found = search(search_options);
  Judge judge(judge_options);
  std::vector<CatalogEntry> entries;
  entries.reserve(found.candidates.size());
  for (const Candidate& candidate : found.candidates) {
    const auto start = std::chrono::steady_clock::now();
    CatalogEntry entry{candidate, judge.judge(candidate.path), 0};
    const auto spent = std::chrono::steady_clock::now() - start;
    entry.microseconds = std::chrono::duration_cast<std::chrono::microseconds>(spent).count();
    entries.push_back(std::move(entry));
  }
  skip_copies(entries);
  set_installed_aside(entries);
  return Catalog(std::move(found), std::move(entries));
}

}  // namespace titan::plugins
