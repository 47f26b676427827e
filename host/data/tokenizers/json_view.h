/// Values inside a JSON file that may be anything: every mistake names the file and the key.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/printable.h"

namespace titan::data {

/// Points into the document and at the name of its file, which both outlive it.
class JsonView {
 public:
  using Json = nlohmann::json;

  JsonView(const Json& value, const std::string& where, std::string path = {})
      : value_(value), where_(where), path_(std::move(path)) {}

  const Json& value() const { return value_; }
  /// "model.vocab": where this value stands in the file.
  const std::string& path() const { return path_; }
  const std::string& where() const { return where_; }

  [[noreturn]] void wrong(
      const std::string& what,
      const std::string& hint = "compare the file with the original; it may be damaged") const {
    throw data_error(path_.empty() ? what : "'" + printable(path_, 200) + "': " + what, where_,
                     hint);
  }

  bool has(const char* key) const {
    return value_.is_object() && value_.contains(key) && !value_.at(key).is_null();
  }
  /// The value under a key that has to be there.
  JsonView at(const char* key) const {
    if (!value_.is_object()) wrong("an object is needed");
    if (!value_.contains(key)) wrong("there is no '" + std::string(key) + "'");
    return {value_.at(key), where_, child(key)};
  }
  JsonView item(size_t index) const {
    return {value_.at(index), where_, path_ + "[" + std::to_string(index) + "]"};
  }
  size_t list_size() const {
    if (!value_.is_array()) wrong("a list is needed");
    return value_.size();
  }
  std::string child(const std::string& key) const {
    return path_.empty() ? key : path_ + "." + key;
  }

  std::string text() const {
    if (!value_.is_string()) wrong("a text is needed");
    return value_.get<std::string>();
  }
  bool flag() const {
    if (!value_.is_boolean()) wrong("true or false is needed");
    return value_.get<bool>();
  }
  /// A flag that may be absent or null.
  bool flag_or(const char* key, bool otherwise) const {
    return has(key) ? at(key).flag() : otherwise;
  }
  /// A whole number of 0 up to `most`.
  int64_t count(int64_t most) const {
    const bool fits = value_.is_number_integer() && (!value_.is_number_unsigned() ||
                                                     value_.get<uint64_t>() <= uint64_t{INT64_MAX});
    if (!fits || value_.get<int64_t>() < 0 || value_.get<int64_t>() > most)
      wrong("a whole number of 0 to " + std::to_string(most) + " is needed");
    return value_.get<int64_t>();
  }

 private:
  const Json& value_;
  const std::string& where_;
  std::string path_;
};

}  // namespace titan::data
