/// One line of a JSON-lines file as an object.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/jsonl_lines.h"

namespace titan::data {

/// "a number", "a list", ...
inline std::string json_kind(const nlohmann::json& value) {
  switch (value.type()) {
    case nlohmann::json::value_t::null: return "null";
    case nlohmann::json::value_t::boolean: return "true or false";
    case nlohmann::json::value_t::string: return "a text";
    case nlohmann::json::value_t::array: return "a list";
    case nlohmann::json::value_t::object: return "an object";
    default: return "a number";
  }
}

/// The current line of `lines`, which must outlive it; a data error if it is no object.
class JsonLine {
 public:
  explicit JsonLine(const JsonlLines& lines) : lines_(lines) {
    object_ = nlohmann::json::parse(lines.line(), nullptr, /*allow_exceptions=*/false);
    if (object_.is_discarded())
      wrong("the line is no valid JSON", "write one JSON object a line, in UTF-8");
    if (!object_.is_object())
      wrong("the line holds " + json_kind(object_) + ", an object is needed",
            "write one JSON object a line");
  }

  [[noreturn]] void wrong(const std::string& what, const std::string& hint) const {
    throw data_error(what, lines_.where_line(), hint);
  }

  const nlohmann::json& object() const { return object_; }

  /// The value under a key, or under "outer.inner"; null if there is none.
  const nlohmann::json* find(const std::string& key) const {
    if (const auto found = object_.find(key); found != object_.end()) return &*found;
    const nlohmann::json* value = &object_;
    for (size_t begin = 0;;) {
      const size_t dot = key.find('.', begin);
      const auto found =
          value->is_object() ? value->find(key.substr(begin, dot - begin)) : value->end();
      if (found == value->end()) return nullptr;
      value = &*found;
      if (dot == std::string::npos) return value;
      begin = dot + 1;
    }
  }

  std::vector<std::string> keys() const {
    std::vector<std::string> keys;
    for (const auto& entry : object_.items()) keys.push_back(entry.key());
    return keys;
  }

 private:
  const JsonlLines& lines_;
  nlohmann::json object_;
};

}  // namespace titan::data
