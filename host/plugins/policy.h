/// Which of the plugins that are found may be used: plugins.allow, plugins.deny and plugins.sha256.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace titan::plugins {

/// The policy of a config, checked. An empty one lets everything through.
class Policy {
 public:
  Policy() = default;
  /// Throws usage_error naming the key: an empty pattern, a pin that is not NAME=64 hexadecimal
  /// digits, two pins for one name.
  Policy(std::vector<std::string> allow, std::vector<std::string> deny,
         const std::vector<std::string>& pins);

  /// Whether judging needs the hash of a file.
  bool has_pins() const { return !pins_.empty(); }
  /// Stops (GateStop, rule T-34) a plugin that is denied, not among the allowed, or not the file
  /// that was pinned. `name` is the plugin's; `path` the file's; `sha256` 64 digits, empty without
  /// pins.
  void check(std::string_view name, std::string_view path, std::string_view sha256) const;
  /// Of a plugin that passes: "allowed by 'acme_*'", "sha256 pinned", "no policy".
  std::string passed(std::string_view name, std::string_view path) const;

 private:
  std::vector<std::string> allow_, deny_;
  std::map<std::string, std::string, std::less<>> pins_;  ///< sha256 by plugin
};

}  // namespace titan::plugins
