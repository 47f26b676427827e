#include "observe/peak_flops.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace titan::observe {
namespace {

struct Peak {
  std::vector<std::string> words;  ///< all must be in the name
  double bfloat16;                 ///< FLOPs per second
  double float8;                   ///< 0: the device has no float8
};

/// The first match counts, so variants come before the plain name. bfloat16 as in torchtitan.
const std::vector<Peak>& peaks() {
  static const std::vector<Peak> table = {
      {{"A100"}, 312e12, 0},
      {{"H100", "NVL"}, 835e12, 1671e12},
      {{"H100", "PCIE"}, 756e12, 1513e12},
      {{"H100"}, 989e12, 1979e12},
      {{"H200"}, 989e12, 1979e12},
      {{"H20"}, 148e12, 296e12},
      {{"B200"}, 2.25e15, 4.5e15},
  };
  return table;
}

/// Upper-case words: letters and digits between anything else. Whole words, because "H20" begins
/// "H200" and "GH200" ends like it.
std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte))
      words.back() += static_cast<char>(std::toupper(byte));
    else if (!words.back().empty())
      words.emplace_back();
  }
  return words;
}

}  // namespace

std::optional<double> peak_flops(const std::string& device_name, MatrixType type) {
  const std::vector<std::string> words = words_of(device_name);
  const auto has = [&](const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  if (has("MIG")) return std::nullopt;
  for (const Peak& peak : peaks()) {
    if (!std::all_of(peak.words.begin(), peak.words.end(), has)) continue;
    const double value = type == MatrixType::kFloat8 ? peak.float8 : peak.bfloat16;
    return value > 0 ? std::optional<double>(value) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace titan::observe
