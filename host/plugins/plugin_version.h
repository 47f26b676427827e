/// The order of versions of plugins: semantic versioning 2.0.0, section 11.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace titan::plugins {

/// "1.4.0-rc.2+build": what counts for the order. What follows '+' does not.
class PluginVersion {
 public:
  /// Also "1" and "1.4", whose missing parts are 0. Nothing for any other text.
  static std::optional<PluginVersion> parse(std::string_view text);
  std::strong_ordering operator<=>(const PluginVersion& other) const;
  bool operator==(const PluginVersion& other) const { return (*this <=> other) == 0; }

 private:
  std::vector<std::string> core_;        ///< three numbers, without leading zeros
  std::vector<std::string> prerelease_;  ///< empty: a release, which comes after its prereleases
};

}  // namespace titan::plugins
