/// Encodes texts for originals_test.py: encode_texts FORMAT PATH text|specials [WINDOW]. Standard
/// input holds texts, standard output their ids; both as little-endian uint32: a length, then bytes
/// or ids.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/program.h"
#include "data/tokenizers/open_tokenizer.h"

namespace {

bool read_exactly(void* to, size_t size) { return std::fread(to, 1, size, stdin) == size; }

/// In windows of `size` bytes, as long documents are read; 0: at once.
std::vector<int64_t> encoded(titan::data::Tokenizer& tokenizer, std::string_view text,
                             size_t size) {
  std::vector<int64_t> ids;
  while (!text.empty()) {
    size_t window = size == 0 ? text.size() : std::min(size, text.size()), used = 0;
    for (;; window = std::min(2 * window, text.size())) {
      used = tokenizer.encode_some(text.substr(0, window), window == text.size(), ids);
      if (used > 0 || window == text.size()) break;
    }
    text.remove_prefix(used);
  }
  return ids;
}

int encode_all(char** arguments, size_t window) {
  const auto tokenizer = titan::data::open_tokenizer(
      {arguments[2], arguments[1], std::string(arguments[3]) == "specials"});
  uint32_t size = 0;
  while (read_exactly(&size, sizeof size)) {
    std::string text(size, '\0');
    if (!read_exactly(text.data(), size)) return 2;
    const std::vector<int64_t> ids = encoded(*tokenizer, text, window);
    const auto count = static_cast<uint32_t>(ids.size());
    std::fwrite(&count, sizeof count, 1, stdout);
    const std::vector<uint32_t> narrow(ids.begin(), ids.end());
    std::fwrite(narrow.data(), sizeof(uint32_t), narrow.size(), stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  return titan::run_program(
      [&] { return encode_all(argv, argc > 4 ? std::strtoul(argv[4], nullptr, 10) : 0); });
}
