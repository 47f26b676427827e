#include "base/numbers.h"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace titan {

std::string with_commas(int64_t value) {
  std::string text = std::to_string(value);
  const size_t first_digit = value < 0 ? 1 : 0;
  for (size_t i = text.size(); i > first_digit + 3;) {
    i -= 3;
    text.insert(i, 1, ',');
  }
  return text;
}

std::string float9(double value) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.9g", value);
  return text.data();
}

std::string shortest_float(double value) {
  std::array<char, 40> buffer{};
  // Six digits at least, so that 500000 does not turn into 5e+05; 17 digits hold any double.
  for (int digits = 6; digits <= 17; ++digits) {
    std::snprintf(buffer.data(), buffer.size(), "%.*g", digits, value);
    if (std::strtod(buffer.data(), nullptr) == value) break;
  }
  std::string text = buffer.data();
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string gib(uint64_t bytes) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.2fGiB",
                static_cast<double>(bytes) / (1024.0 * 1024.0 * 1024.0));
  return text.data();
}

}  // namespace titan
