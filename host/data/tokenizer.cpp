#include "data/tokenizer.h"

namespace titan::data {

void ByteTokenizer::encode(std::string_view text, std::vector<int64_t>& ids) const {
  ids.reserve(ids.size() + text.size());
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
}

std::string ByteTokenizer::decode(std::span<const int64_t> ids) const {
  std::string text;
  text.reserve(ids.size());
  for (const int64_t id : ids) {
    if (id >= 0 && id < 256)
      text.push_back(static_cast<char>(id));
    else if (id < 0 || id >= kVocabSize)
      text += "\xEF\xBF\xBD";
  }
  return text;
}

}  // namespace titan::data
