/// All candidates of a search with a verdict each: who offers which converter, without running
/// code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "plugins/judge.h"
#include "plugins/search.h"

namespace titan::plugins {

struct CatalogEntry {
  Candidate candidate;
  JudgedPlugin judged;
  int64_t microseconds = 0;  ///< time the verdict took
  bool loadable() const { return judged.verdict.outcome == Outcome::kLoadable; }
  bool lists(std::string_view converter) const;
  /// Whether it lists the converter `name`, or is the plugin of that name.
  bool is_called(std::string_view name) const;
};

/// A converter that two or more loadable files offer.
struct DuplicateConverter {
  std::string name;
  std::vector<std::string> paths;
};

class Catalog {
 public:
  Catalog(SearchResult search, std::vector<CatalogEntry> entries);

  const SearchResult& search() const { return search_; }
  const std::vector<CatalogEntry>& entries() const { return entries_; }
  const std::vector<std::string>& searched() const { return search_.searched; }
  const std::vector<SearchNotice>& notices() const { return search_.notices; }
  const std::vector<DuplicateConverter>& duplicates() const { return duplicates_; }

  /// Loadable entries whose note lists `converter`, in search order.
  std::vector<const CatalogEntry*> find(std::string_view converter) const;
  /// Refused entries whose note lists `converter`: whoever uses another file should know.
  std::vector<const CatalogEntry*> refused_with(std::string_view converter) const;
  /// Loadable entries without a note: what they offer is known only after loading them.
  std::vector<const CatalogEntry*> without_note() const;
  /// Names in the notes of loadable entries, each once, in search order.
  std::vector<std::string> converter_names() const;
  /// The schemas of loadable entries, the first of each name.
  std::vector<config::ConverterSchema> schemas() const;
  /// Those, and then the ones of other entries whose note could be read, marked in their origin: a
  /// section of a plugin that was found and refused is no mistake, and costs a run that does not
  /// apply it nothing.
  std::vector<config::ConverterSchema> known_schemas() const;

  /// The one loadable entry that lists `converter`; null if no note does (see without_note).
  /// Throws usage_error if several files offer it.
  const CatalogEntry* require(const std::string& converter) const;
  /// The error for a converter that nobody offers: what was searched, what was found, and why files
  /// that might have had it were refused. `other_names` (built-in converters) are suggested as
  /// well.
  Error missing(const std::string& converter,
                const std::vector<std::string>& other_names = {}) const;

 private:
  SearchResult search_;
  std::vector<CatalogEntry> entries_;
  std::vector<DuplicateConverter> duplicates_;
};

/// Searches and judges; loads nothing. A bad file costs its own line, never the scan. Of files with
/// the same content the first counts, and the others are skipped as copies.
Catalog scan(const SearchOptions& search_options, const JudgeOptions& judge_options = {});

}  // namespace titan::plugins
