/// JSON as a value: what the report is written in and what reference files are read with.
///
/// Why not a library: the driver is built where there is a compiler, a CUDA toolkit and a torch,
/// and nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace titan::device_check {

/// Members of an object keep their order. Numbers are doubles: integers are exact up to 2^53.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  Json() = default;  ///< null
  Json(bool value) : value_(value) {}
  Json(double value) : value_(value) {}
  Json(int32_t value) : value_(static_cast<double>(value)) {}
  Json(int64_t value) : value_(static_cast<double>(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(const std::vector<double>& values) : value_(Array(values.begin(), values.end())) {}
  static Json array() { return Json(Array{}); }
  static Json object() { return Json(Object{}); }

  /// One value and nothing behind it. Throws titan::Error (a data error) naming `place` and the
  /// byte.
  static Json parse(const std::string& text, const std::string& place);

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  /// Each throws an internal error if the value is of another kind.
  bool flag() const;
  double number() const;
  int64_t integer() const { return static_cast<int64_t>(number()); }
  const std::string& text() const;
  const Array& items() const;
  const Object& members() const;
  std::vector<double> numbers() const;  ///< of an array

  /// Null if the object has no such member.
  const Json* find(const std::string& key) const;
  /// Throws a data error naming the key if the object has no such member.
  const Json& at(const std::string& key) const;
  /// The member, made if it is not there; null becomes an object.
  Json& operator[](const std::string& key);
  /// Null becomes an array.
  Json& push(Json item);

  /// Indented by two. Numbers that are not finite are written as text, which JSON has no numbers
  /// for: "nan", "inf".
  std::string dump() const;

 private:
  explicit Json(Array items) : value_(std::move(items)) {}
  explicit Json(Object members) : value_(std::move(members)) {}
  void write(std::string& out, size_t depth) const;

  std::variant<std::monostate, bool, double, std::string, Array, Object> value_;
};

}  // namespace titan::device_check
