#include "plugins/plugin_version.h"

#include <algorithm>

namespace titan::plugins {
namespace {

bool is_version_digit(char c) { return c >= '0' && c <= '9'; }

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_version_digit);
}

std::vector<std::string> split_at_dots(std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

bool is_identifier(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_version_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

std::string without_leading_zeros(const std::string& number) {
  return number.substr(std::min(number.find_first_not_of('0'), number.size() - 1));
}

/// Numbers of any length, without leading zeros.
std::strong_ordering by_value(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() <=> b.size() : a <=> b;
}

std::strong_ordering by_identifier(const std::string& a, const std::string& b) {
  if (is_number(a) != is_number(b))
    return is_number(a) ? std::strong_ordering::less : std::strong_ordering::greater;
  return is_number(a) ? by_value(without_leading_zeros(a), without_leading_zeros(b)) : a <=> b;
}

}  // namespace

std::optional<PluginVersion> PluginVersion::parse(std::string_view text) {
  const std::string_view numbered = text.substr(0, text.find_first_of("-+"));
  const std::string_view rest = text.substr(numbered.size());
  PluginVersion version;
  version.core_ = split_at_dots(numbered);
  if (version.core_.size() > 3) return std::nullopt;
  for (std::string& part : version.core_) {
    if (!is_number(part)) return std::nullopt;
    part = without_leading_zeros(part);
  }
  version.core_.resize(3, "0");
  const std::string_view prerelease = rest.substr(0, rest.find('+'));
  if (!prerelease.empty()) version.prerelease_ = split_at_dots(prerelease.substr(1));
  std::vector<std::string> identifiers = version.prerelease_;
  if (prerelease.size() < rest.size())
    for (std::string& part : split_at_dots(rest.substr(prerelease.size() + 1)))
      identifiers.push_back(std::move(part));
  if (!std::all_of(identifiers.begin(), identifiers.end(), is_identifier)) return std::nullopt;
  return version;
}

std::strong_ordering PluginVersion::operator<=>(const PluginVersion& other) const {
  for (size_t i = 0; i < core_.size(); ++i)
    if (const auto order = by_value(core_[i], other.core_[i]); order != 0) return order;
  if (prerelease_.empty() || other.prerelease_.empty())
    return prerelease_.empty() <=> other.prerelease_.empty();
  const size_t common = std::min(prerelease_.size(), other.prerelease_.size());
  for (size_t i = 0; i < common; ++i)
    if (const auto order = by_identifier(prerelease_[i], other.prerelease_[i]); order != 0)
      return order;
  return prerelease_.size() <=> other.prerelease_.size();
}

}  // namespace titan::plugins
