#include "data/tokenizers/stream_decoder.h"

#include <string_view>

#include "data/tokenizers/utf8.h"

namespace titan::data {

std::string StreamDecoder::push(int64_t id) {
  waiting_ += tokenizer_.bytes_of(id).value_or("\xEF\xBF\xBD");
  std::string text;
  std::string_view rest = waiting_;
  while (!rest.empty()) {
    const Utf8Prefix prefix = utf8_prefix(rest);
    text += rest.substr(0, prefix.valid);
    rest.remove_prefix(prefix.valid);
    if (prefix.truncated || prefix.invalid == 0) break;
    text += "\xEF\xBF\xBD";
    rest.remove_prefix(prefix.invalid);
  }
  waiting_ = std::string(rest);
  return text;
}

std::string StreamDecoder::finish() {
  std::string text = with_replacements(waiting_);
  waiting_.clear();
  return text;
}

}  // namespace titan::data
