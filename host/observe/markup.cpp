#include "observe/markup.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "base/numbers.h"
#include "base/printable.h"

namespace titan::observe {
namespace {

/// Up to that many digits behind the point, without zeros at the end.
std::string trimmed(double value, int decimals) {
  std::string text = fixed_point(value, decimals);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  const std::string shown = printable(text, 4 * text.size());  // a byte becomes \xff at most
  for (size_t i = 0; i < shown.size(); ++i) {
    switch (shown[i]) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default:
        // U+FFFE and U+FFFF are UTF-8, but no characters of XML.
        if (shown.compare(i, 3, "\xef\xbf\xbe") == 0 || shown.compare(i, 3, "\xef\xbf\xbf") == 0) {
          out += '?';
          i += 2;
        } else {
          out += shown[i];
        }
    }
  }
  return out;
}

std::string element(std::string_view tag, std::string_view text) {
  const std::string name(tag);
  return "<" + name + ">" + escaped(text) + "</" + name + ">";
}

std::string html_table(const std::vector<std::string>& head,
                       const std::vector<std::vector<std::string>>& rows, size_t numbers) {
  std::string html = "<table>\n<thead><tr>";
  for (const std::string& cell : head) html += "<th scope=\"col\">" + escaped(cell) + "</th>";
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows) {
    html += "<tr>";
    for (size_t column = 0; column < row.size(); ++column)
      html += (column >= numbers ? "<td class=\"n\">" : "<td>") + escaped(row[column]) + "</td>";
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table>\n";
}

std::string short_number(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  const double size = std::abs(value);
  if (size == 0) return "0";
  constexpr std::array<std::pair<double, const char*>, 5> kUnits = {
      {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e4, "k"}}};
  if (size < 1e-4 || size >= 1e18) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.3g", value);
    return text.data();
  }
  for (const auto& [limit, unit] : kUnits)
    if (size >= limit) {
      const double scaled = value / (limit == 1e4 ? 1e3 : limit);
      return trimmed(scaled, std::abs(scaled) >= 100 ? 1 : 2) + unit;
    }
  // Four significant digits.
  const int decimals = 3 - static_cast<int>(std::floor(std::log10(size)));
  return trimmed(value, decimals < 0 ? 0 : decimals);
}

std::string duration_text(double seconds) {
  if (seconds < 60) return fixed_point(seconds, 1) + " s";
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  const auto two = [](int64_t number) { return (number < 10 ? "0" : "") + std::to_string(number); };
  if (whole < 3600) return std::to_string(whole / 60) + " min " + two(whole % 60) + " s";
  return std::to_string(whole / 3600) + " h " + two(whole % 3600 / 60) + " min";
}

}  // namespace titan::observe
