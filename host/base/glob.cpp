#include "base/glob.h"

#include <cctype>

#include "base/error.h"

namespace titan {
namespace {

constexpr std::string_view kGlobHint =
    "a pattern is a whole module name such as layers.*.feed_forward.w[13]: '*' stands for part of "
    "one segment, '**' for any number of whole segments";

Error malformed_glob(std::string_view text, const std::string& reason) {
  return usage_error("malformed pattern '" + std::string(text) + "': " + reason,
                     "pattern '" + std::string(text) + "'", std::string(kGlobHint));
}

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

std::vector<std::string> split_segments(std::string_view text) {
  std::vector<std::string> segments(1);
  for (const char c : text) {
    if (c == '.')
      segments.emplace_back();
    else
      segments.back() += c;
  }
  return segments;
}

/// Checks the class that starts at `segment[open]`; returns the index of its closing bracket.
size_t check_class(std::string_view text, std::string_view segment, size_t open) {
  size_t i = open + 1;
  if (i < segment.size() && segment[i] == '!') ++i;
  const size_t first = i;
  while (i < segment.size() && segment[i] != ']') {
    if (!is_name_char(segment[i]))
      throw malformed_glob(text, std::string("'") + segment[i] + "' cannot stand inside [...]");
    if (i + 2 < segment.size() && segment[i + 1] == '-' && segment[i + 2] != ']') {
      if (!is_name_char(segment[i + 2]) || segment[i + 2] < segment[i])
        throw malformed_glob(
            text, "the range '" + std::string(segment.substr(i, 3)) + "' is empty or not a range");
      i += 2;
    }
    ++i;
  }
  if (i >= segment.size()) throw malformed_glob(text, "'[' is not closed within its segment");
  if (i == first) throw malformed_glob(text, "'[]' is empty");
  return i;
}

void check_segment(std::string_view text, std::string_view segment) {
  if (segment.empty())
    throw malformed_glob(text, "a segment is empty (a dot at an end, or two in a row)");
  if (segment == "**") return;
  if (segment.find("**") != std::string_view::npos)
    throw malformed_glob(text, "'**' must be a whole segment");
  for (size_t i = 0; i < segment.size(); ++i) {
    const char c = segment[i];
    if (c == '[') {
      i = check_class(text, segment, i);
    } else if (c != '*' && c != '?' && !is_name_char(c)) {
      throw malformed_glob(text, std::string("'") + c + "' occurs in no module name");
    }
  }
}

/// True if `c` is in the class that starts at `pattern[i]`; moves `i` past the class.
bool class_matches(std::string_view pattern, size_t& i, char c) {
  ++i;
  const bool negated = pattern[i] == '!';
  if (negated) ++i;
  bool found = false;
  for (; pattern[i] != ']'; ++i) {
    if (pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      found = found || (pattern[i] <= c && c <= pattern[i + 2]);
      i += 2;
    } else {
      found = found || pattern[i] == c;
    }
  }
  ++i;
  return found != negated;
}

/// One segment against one segment. Only the last '*' is ever retried, which is enough because an
/// earlier one could only have taken fewer characters: the time is at most pattern x name.
bool segment_matches(std::string_view pattern, std::string_view name) {
  size_t p = 0, n = 0;
  size_t star = std::string_view::npos, star_name = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_name = n;
      continue;
    }
    bool hit = false;
    if (p < pattern.size()) {
      if (pattern[p] == '[') {
        hit = class_matches(pattern, p, name[n]);
      } else {
        hit = pattern[p] == '?' || pattern[p] == name[n];
        ++p;
      }
    }
    if (hit) {
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++star_name;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

Glob Glob::parse(std::string_view text) {
  if (text.empty()) throw malformed_glob(text, "it is empty");
  Glob glob(text);
  glob.segments_ = split_segments(text);
  for (const std::string& segment : glob.segments_) check_segment(text, segment);
  return glob;
}

bool Glob::matches(std::string_view fqn) const {
  const std::vector<std::string> names = split_segments(fqn);
  // reach[n]: the segments of the pattern read so far can cover the first n segments of the name.
  std::vector<bool> reach(names.size() + 1, false);
  reach[0] = true;
  for (const std::string& segment : segments_) {
    std::vector<bool> next(names.size() + 1, false);
    if (segment == "**") {
      bool any = false;
      for (size_t n = 0; n <= names.size(); ++n) next[n] = any = any || reach[n];
    } else {
      for (size_t n = 0; n < names.size(); ++n)
        next[n + 1] = reach[n] && segment_matches(segment, names[n]);
    }
    reach = std::move(next);
  }
  return reach[names.size()];
}

}  // namespace titan
