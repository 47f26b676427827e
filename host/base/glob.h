/// The selector grammar of titan: patterns over dotted module names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace titan {

/// A pattern that must cover a whole module name, dot segment by dot segment.
///
///     layers.1                      exactly that module: neither layers.10 nor layers.1.attention
///     layers.*.attention.w[qk]      '*', '?' and '[...]' stay inside one segment
///     **.w1                         '**' is any number of whole segments, none included
///
/// A class lists characters and ranges, `[qk]`, `[0-3]`; `[!qk]` is any other character.
class Glob {
 public:
  /// Throws a usage error if `text` is empty or malformed, or could match no module name.
  static Glob parse(std::string_view text);

  bool matches(std::string_view fqn) const;
  const std::string& text() const { return text_; }

 private:
  explicit Glob(std::string_view text) : text_(text) {}

  std::string text_;
  std::vector<std::string> segments_;  ///< of text_, split at the dots
};

}  // namespace titan
