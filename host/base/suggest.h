/// Suggests the nearest valid name when a name was mistyped.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace titan {

/// The number of single-character insertions, deletions, substitutions and swaps of neighbours that
/// turn `a` into `b` (Damerau-Levenshtein distance in its optimal string alignment form), in bytes.
size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `name`, ignoring case; nothing if none is near enough to be what was
/// meant (more than one edit for every three characters), but for one that is the last part of a
/// dotted name. The first of equally near ones wins.
std::optional<std::string> nearest(std::string_view name,
                                   const std::vector<std::string>& candidates);

/// "did you mean 'lr'? ", ready to be put before a hint; empty if no candidate is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace titan
