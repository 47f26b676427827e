#include "json.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/error.h"

namespace titan::device_check {
namespace {

constexpr int kDeepest = 64;

/// Reads RFC 8259. Of escapes in texts it knows all but \u, which the reference files do not use.
class Parser {
 public:
  Parser(const std::string& text, const std::string& place) : text_(text), place_(place) {}

  Json whole() {
    Json value = any(0);
    skip_blanks();
    if (at_ != text_.size()) fail("the end");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& needed) const {
    const std::string found =
        at_ < text_.size() ? "'" + std::string(1, text_[at_]) + "'" : "the end";
    throw data_error("byte " + std::to_string(at_) + " is " + found + " where JSON needs " + needed,
                     place_, "put the file of the repository back (git checkout)");
  }
  void skip_blanks() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool take(char wanted) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) fail("'" + std::string(1, wanted) + "'");
  }
  bool take_word(const char* word) {
    const std::string wanted = word;
    if (text_.compare(at_, wanted.size(), wanted) != 0) return false;
    at_ += wanted.size();
    return true;
  }

  Json any(int depth) {
    if (depth > kDeepest) fail("fewer values within each other");
    skip_blanks();
    if (take('{')) return object(depth);
    if (take('[')) return array(depth);
    if (at_ < text_.size() && text_[at_] == '"') return string();
    if (take_word("true")) return true;
    if (take_word("false")) return false;
    if (take_word("null")) return {};
    return number();
  }
  Json object(int depth) {
    Json result = Json::object();
    if (take('}')) return result;
    do {
      skip_blanks();
      const std::string key = string();
      expect(':');
      result[key] = any(depth + 1);
    } while (take(','));
    expect('}');
    return result;
  }
  Json array(int depth) {
    Json result = Json::array();
    if (take(']')) return result;
    do result.push(any(depth + 1));
    while (take(','));
    expect(']');
    return result;
  }
  std::string string() {
    expect('"');
    std::string result;
    while (at_ < text_.size() && text_[at_] != '"') {
      char c = text_[at_++];
      if (c == '\\') {
        static const std::string kNames = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
        const size_t which = at_ < text_.size() ? kNames.find(text_[at_]) : std::string::npos;
        if (which == std::string::npos) fail("an escape that this reader knows");
        c = kMeant[which];
        ++at_;
      }
      result += c;
    }
    expect('"');
    return result;
  }
  Json number() {
    double value = 0;
    // from_chars also takes "inf" and "nan", which JSON does not have.
    if (at_ < text_.size() && text_[at_] != '-' && (text_[at_] < '0' || text_[at_] > '9'))
      fail("a value");
    const char *begin = text_.data() + at_, *end = text_.data() + text_.size();
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (error != std::errc() || stop == begin) fail("a value");
    at_ += static_cast<size_t>(stop - begin);
    return value;
  }

  const std::string& text_;
  const std::string& place_;
  size_t at_ = 0;
};

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", c);
      out += code;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string number_text(double value) {
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return error == std::errc() ? std::string(buffer, end) : "0";
}

template <class T, class V>
const T& as(const V& value, const char* kind) {
  if (const T* held = std::get_if<T>(&value)) return *held;
  throw internal_error(std::string("a JSON value was read as ") + kind + ", which it is not");
}

}  // namespace

Json Json::parse(const std::string& text, const std::string& place) {
  return Parser(text, place).whole();
}

bool Json::flag() const { return as<bool>(value_, "true or false"); }
double Json::number() const { return as<double>(value_, "a number"); }
const std::string& Json::text() const { return as<std::string>(value_, "a text"); }
const Json::Array& Json::items() const { return as<Array>(value_, "an array"); }
const Json::Object& Json::members() const { return as<Object>(value_, "an object"); }

std::vector<double> Json::numbers() const {
  std::vector<double> result;
  for (const Json& item : items()) result.push_back(item.number());
  return result;
}

const Json* Json::find(const std::string& key) const {
  for (const auto& [name, value] : members())
    if (name == key) return &value;
  return nullptr;
}

const Json& Json::at(const std::string& key) const {
  if (const Json* found = find(key)) return *found;
  throw data_error("a JSON object has no member '" + key + "'", key,
                   "put the file of the repository back (git checkout)");
}

Json& Json::operator[](const std::string& key) {
  if (is_null()) value_ = Object{};
  auto* members = std::get_if<Object>(&value_);
  if (!members) throw internal_error("a JSON value was written as an object, which it is not");
  for (auto& [name, value] : *members)
    if (name == key) return value;
  return members->emplace_back(key, Json()).second;
}

Json& Json::push(Json item) {
  if (is_null()) value_ = Array{};
  auto* items = std::get_if<Array>(&value_);
  if (!items) throw internal_error("a JSON value was written as an array, which it is not");
  return items->emplace_back(std::move(item));
}

std::string Json::dump() const {
  std::string out;
  write(out, 0);
  return out + "\n";
}

void Json::write(std::string& out, size_t depth) const {
  const auto line = [&](size_t level) { out.append(1, '\n').append(2 * level, ' '); };
  if (is_null()) {
    out += "null";
  } else if (const auto* flag = std::get_if<bool>(&value_)) {
    out += *flag ? "true" : "false";
  } else if (const auto* number = std::get_if<double>(&value_)) {
    out += number_text(*number);
  } else if (const auto* text = std::get_if<std::string>(&value_)) {
    out += quoted(*text);
  } else if (const auto* items = std::get_if<Array>(&value_)) {
    // Lists of numbers on one line: samples of a timing are read together.
    bool flat = true;
    for (const Json& item : *items) flat = flat && std::holds_alternative<double>(item.value_);
    out += '[';
    for (size_t i = 0; i < items->size(); ++i) {
      if (i > 0) out += flat ? ", " : ",";
      if (!flat) line(depth + 1);
      (*items)[i].write(out, depth + 1);
    }
    if (!flat) line(depth);
    out += ']';
  } else {
    const auto& members = std::get<Object>(value_);
    out += '{';
    for (size_t i = 0; i < members.size(); ++i) {
      if (i > 0) out += ',';
      line(depth + 1);
      out += quoted(members[i].first) + ": ";
      members[i].second.write(out, depth + 1);
    }
    if (!members.empty()) line(depth);
    out += '}';
  }
}

}  // namespace titan::device_check
