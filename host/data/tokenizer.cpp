#include "data/tokenizer.h"

#include <array>

namespace titan::data {

std::string Tokenizer::decode(std::span<const int64_t> ids) const {
  std::string text;
  for (const int64_t id : ids) text += bytes_of(id).value_or("\xEF\xBF\xBD");
  return text;
}

size_t ByteTokenizer::encode_some(std::string_view text, bool, std::vector<int64_t>& ids) {
  ids.reserve(ids.size() + text.size());
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return text.size();
}

std::optional<std::string_view> ByteTokenizer::bytes_of(int64_t id) const {
  static constexpr std::array<char, 256> kBytes = [] {
    std::array<char, 256> bytes{};
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i);
    return bytes;
  }();
  if (id >= 0 && id < 256) return std::string_view(&kBytes[static_cast<size_t>(id)], 1);
  if (id >= 256 && id < kVocabSize) return std::string_view();
  return std::nullopt;
}

}  // namespace titan::data
