#include "data/jsonl_source.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/printable.h"
#include "base/suggest.h"
#include "data/json_line.h"

namespace titan::data {

JsonlSource::JsonlSource(JsonlLines lines, std::string key)
    : lines_(std::move(lines)), key_(std::move(key)) {
  take_line();
  pass_over_empty();
}

std::string JsonlSource::text_of_line() const {
  const JsonLine line(lines_);
  const nlohmann::json* value = line.find(key_);
  if (!value)
    line.wrong("the object has no key '" + printable(key_, 80) + "'",
               did_you_mean(key_, line.keys()) + "set training.dataset_key to the key of the text");
  if (!value->is_string())
    line.wrong("'" + printable(key_, 80) + "' is " + json_kind(*value) + ", a text is needed",
               "set training.dataset_key to the key of the text; 'a.b' goes into an object");
  return value->get<std::string>();
}

void JsonlSource::pass_over_empty() {
  const int64_t epoch = lines_.place().epoch;
  while (text_.empty()) {
    lines_.next();
    if (lines_.place().epoch > epoch + 1)
      throw data_error("every line's '" + printable(key_, 80) + "' is empty", lines_.where(),
                       "use data with text in it, or set training.dataset_key");
    take_line();
  }
}

int64_t JsonlSource::read(int64_t offset, char* to, int64_t size) {
  const int64_t count = std::clamp<int64_t>(static_cast<int64_t>(text_.size()) - offset, 0, size);
  if (count > 0) std::memcpy(to, text_.data() + offset, static_cast<size_t>(count));
  return count;
}

void JsonlSource::next() {
  lines_.next();
  take_line();
  pass_over_empty();
}

bool JsonlSource::seek(const StreamPosition& place) {
  if (!lines_.seek(place)) return false;
  take_line();
  return true;
}

}  // namespace titan::data
