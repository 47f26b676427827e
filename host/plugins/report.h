/// `titan plugins list` and `titan plugins inspect`: a catalog as text and as JSON.
#pragma once

#include <string>

#include "plugins/catalog.h"

namespace titan::plugins {

/// A table of converters, then one line for each file that was skipped or refused, for duplicates,
/// warnings and notices. Ends in a newline.
std::string list_text(const Catalog& catalog);
/// {"searched": [..], "plugins": [..], "duplicates": [..], "notices": [..]}, without a final
/// newline.
std::string list_json(const Catalog& catalog);

/// Everything that can be said about one file without running it.
std::string inspect_text(const JudgedPlugin& judged);
std::string inspect_json(const JudgedPlugin& judged);

/// The file that `what` means: a path (it contains '/' or ends in ".so"), else the name of a
/// converter or plugin in the catalog. Throws usage_error naming the nearest name if there is none.
JudgedPlugin find_for_inspection(const Catalog& catalog, const std::string& what,
                                 const JudgeOptions& options = {});

}  // namespace titan::plugins
