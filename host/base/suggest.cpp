#include "base/suggest.h"

#include <algorithm>
#include <cctype>

namespace titan {
namespace {

/// Nobody mistypes longer names than this by hand; the limit keeps the search cheap on any input.
constexpr size_t kLongestName = 128;

std::string lower_case(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lowered;
}

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: a swap of neighbours looks two rows back.
  std::vector<size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substitute});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::optional<std::string> nearest(std::string_view name,
                                   const std::vector<std::string>& candidates) {
  if (name.empty() || name.size() > kLongestName) return std::nullopt;
  const std::string wanted = lower_case(name);
  const std::string* best = nullptr;
  size_t best_distance = 0;
  for (const std::string& candidate : candidates) {
    if (candidate.empty() || candidate.size() > kLongestName) continue;
    const size_t cut_off = std::max<size_t>(1, std::max(wanted.size(), candidate.size()) / 3);
    const size_t longer = std::max(wanted.size(), candidate.size());
    const size_t shorter = std::min(wanted.size(), candidate.size());
    if (longer - shorter > cut_off) continue;
    const size_t distance = edit_distance(wanted, lower_case(candidate));
    // A name of one or two characters that shares none with the candidate is not a typing error.
    if (distance > cut_off || distance >= longer) continue;
    if (best == nullptr || distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  if (best != nullptr) return *best;
  // A longer name for it elsewhere: 'quantize.linear.float8' is 'float8' here.
  for (const std::string& candidate : candidates) {
    std::string ending = ".";
    ending += lower_case(candidate);
    if (!candidate.empty() && wanted.ends_with(ending)) return candidate;
  }
  return std::nullopt;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::optional<std::string> best = nearest(name, candidates);
  return best ? "did you mean '" + *best + "'? " : "";
}

}  // namespace titan
