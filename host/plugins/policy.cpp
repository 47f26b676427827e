#include "plugins/policy.h"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/error.h"
#include "base/printable.h"
#include "base/suggest.h"
#include "plugins/gate.h"

namespace titan::plugins {
namespace {

constexpr size_t kDigits = 64;

void check_patterns(const std::vector<std::string>& patterns, const char* key) {
  for (const std::string& pattern : patterns)
    if (pattern.empty())
      throw usage_error("an empty pattern matches no plugin", key,
                        "name plugins (float8, acme_*) or files (/opt/acme/*)");
}

/// A pattern with '/' is about the file, any other about the plugin's name.
const std::string* first_match(const std::vector<std::string>& patterns, std::string_view name,
                               std::string_view path) {
  // Links and detours are other spellings of one place.
  std::error_code error;
  const std::filesystem::path spelled(path), real = std::filesystem::canonical(spelled, error);
  for (const std::string& pattern : patterns) {
    const bool of_file = pattern.find('/') != std::string::npos;
    for (const std::string& text :
         of_file ? std::vector<std::string>{spelled.lexically_normal().native(),
                                            error ? "" : real.native()}
                 : std::vector<std::string>{std::string(name)})
      if (fnmatch(pattern.c_str(), text.c_str(), 0) == 0) return &pattern;
  }
  return nullptr;
}

}  // namespace

Policy::Policy(std::vector<std::string> allow, std::vector<std::string> deny,
               const std::vector<std::string>& pins)
    : allow_(std::move(allow)), deny_(std::move(deny)) {
  check_patterns(allow_, "plugins.allow");
  check_patterns(deny_, "plugins.deny");
  for (const std::string& pin : pins) {
    const size_t equals = pin.find('=');
    std::string digits = equals == std::string::npos ? "" : pin.substr(equals + 1);
    std::transform(digits.begin(), digits.end(), digits.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    if (equals == 0 || digits.size() != kDigits ||
        digits.find_first_not_of("0123456789abcdef") != std::string::npos)
      throw usage_error(
          "'" + printable(pin, 120) + "' is not NAME=SHA256 with 64 hexadecimal digits",
          "plugins.sha256",
          "titan plugins inspect NAME shows the hash; for example float8=$(sha256sum < float8.so | "
          "cut -c1-64)");
    if (!pins_.emplace(pin.substr(0, equals), digits).second)
      throw usage_error("the plugin '" + printable(pin.substr(0, equals), 80) + "' has two hashes",
                        "plugins.sha256", "keep one of them");
  }
}

void Policy::check(std::string_view name, std::string_view path, std::string_view sha256) const {
  const std::string shown = "'" + printable(name, 80) + "'";
  if (const std::string* denied = first_match(deny_, name, path))
    refuse("is denied by plugins.deny ('" + printable(*denied, 120) + "')",
           "take " + shown + " out of plugins.deny to use it", Rule::kTrust);
  if (!allow_.empty() && !first_match(allow_, name, path))
    refuse("is not among the plugins of plugins.allow",
           "add " + shown + " to plugins.allow to use it", Rule::kTrust);
  if (pins_.empty()) return;
  const auto pin = pins_.find(name);
  if (pin == pins_.end()) {
    std::vector<std::string> names;
    for (const auto& [known, digits] : pins_) names.push_back(known);
    refuse("is not pinned, and with plugins.sha256 only pinned plugins are used",
           did_you_mean(std::string(name), names) + "add '" + printable(name, 80) + "=" +
               std::string(sha256) + "' to plugins.sha256",
           Rule::kTrust);
  }
  if (pin->second != sha256)
    refuse("has sha256 " + std::string(sha256) + ", but plugins.sha256 pins " + shown + " to " +
               pin->second,
           "install the file that was pinned, or pin this one if you trust it", Rule::kTrust);
}

std::string Policy::passed(std::string_view name, std::string_view path) const {
  std::string text;
  if (const std::string* allowed = first_match(allow_, name, path))
    text = "allowed by '" + printable(*allowed, 120) + "'";
  if (has_pins()) text += std::string(text.empty() ? "" : ", ") + "sha256 as pinned";
  return text.empty() ? "no rule forbids it" : text;
}

}  // namespace titan::plugins
