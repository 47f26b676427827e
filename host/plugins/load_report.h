/// `titan plugins why` and `titan plugins doctor`: how far each file came, gate by gate.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plugins/catalog.h"

namespace titan::plugins {

/// The entries that `what` may mean: a converter, a plugin, or a file's name with or without ".so";
/// a path judges that file, found or not. Also entries that were refused. Throws usage_error naming
/// the nearest name and what was searched if there is none.
std::vector<CatalogEntry> entries_called(const Catalog& catalog, const std::string& what,
                                         const JudgeOptions& options);

/// Each gate of each entry with its verdict, and who else offers the same.
std::string why_text(const Catalog& catalog, const std::vector<CatalogEntry>& entries);
std::string why_json(const Catalog& catalog, const std::vector<CatalogEntry>& entries);

/// Facts of the host as "key: value" lines, one line for each file with the gate that stopped it,
/// then conflicts, notices and what to do about each. `facts`: ("LibTorch", "2.11.0"), ...
using HostFacts = std::vector<std::pair<std::string, std::string>>;
std::string doctor_text(const Catalog& catalog, const HostFacts& facts);
std::string doctor_json(const Catalog& catalog, const HostFacts& facts);

/// What doctor counts: refused files, duplicate converters and notices of the search.
size_t problem_count(const Catalog& catalog);

}  // namespace titan::plugins
