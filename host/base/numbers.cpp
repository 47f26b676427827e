#include "base/numbers.h"

#include <array>
#include <charconv>

namespace titan {
namespace {

/// Why not printf: its decimal point is the locale's, which any library in the process can change.
template <class... Format>
std::string chars_of(double value, Format... format) {
  std::array<char, 400>
      text;  // the widest double in fixed notation has 309 digits before the point
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value, format...);
  return error == std::errc() ? std::string(text.data(), end) : "?";
}

}  // namespace

std::string with_commas(int64_t value) {
  std::string text = std::to_string(value);
  const size_t first_digit = value < 0 ? 1 : 0;
  for (size_t i = text.size(); i > first_digit + 3;) {
    i -= 3;
    text.insert(i, 1, ',');
  }
  return text;
}

std::string float9(double value) { return chars_of(value, std::chars_format::general, 9); }

std::string fixed_point(double value, int decimals, size_t width) {
  std::string text = chars_of(value, std::chars_format::fixed, decimals);
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

std::string shortest_float(double value) {
  std::string text;
  // Six digits at least, so that 500000 does not turn into 5e+05; 17 digits hold any double.
  for (int digits = 6; digits <= 17; ++digits) {
    text = chars_of(value, std::chars_format::general, digits);
    double back = 0;
    std::from_chars(text.data(), text.data() + text.size(), back);
    if (back == value) break;
  }
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string gib(uint64_t bytes) {
  return fixed_point(static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0), 2) + "GiB";
}

}  // namespace titan
