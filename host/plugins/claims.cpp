#include "plugins/claims.h"

#include <cmath>

#include "base/numbers.h"
#include "base/printable.h"
#include "base/suggest.h"
#include "plugins/note_json.h"

namespace titan::plugins {
namespace {

NumericsClaim parse_numerics(const NoteValue& value, bool strict) {
  using Kind = NumericsClaim::Kind;
  const std::string hint =
      "write \"exact\", \"straight_through\" or {\"sqnr_db\": 20.0}, or leave it out: it computes "
      "another function";
  if (value.json.is_string()) {
    const std::string& text = value.text();
    if (text == "exact") return {Kind::kExact, 0};
    if (text == "straight_through") return {Kind::kStraightThrough, 0};
    if (!strict) return {};
    value.fail("\"" + printable(text, 80) + "\" is no claim about numbers", hint);
  }
  if (!value.json.is_object())
    value.fail(std::string("must be a string or an object, not ") + value.json.type_name(), hint);
  if (strict) value.only_members({"sqnr_db"});
  if (!strict && !value.has("sqnr_db")) return {};  // a form of a later version
  const NoteValue ratio = value.member("sqnr_db");
  constexpr double kMost = 300;  // a double has no more
  if (!ratio.json.is_number()) ratio.fail("must be a number of decibels", hint);
  const double decibels = ratio.json.get<double>();
  if (!(decibels > 0 && decibels <= kMost))
    ratio.fail("must be above 0 and at most 300 decibels", hint);
  return {Kind::kApproximate, decibels};
}

std::map<std::string, config::OptionValue> parse_validate_with(
    const NoteValue& value, const config::ConverterSchema& converter) {
  value.need_object();
  std::map<std::string, config::OptionValue> options;
  std::vector<std::string> names;
  for (const config::OptionSchema& option : converter.options) names.push_back(option.name);
  for (const auto& [key, json] : value.json.items()) {
    const config::OptionSchema* schema = nullptr;
    for (const config::OptionSchema& option : converter.options)
      if (option.name == key) schema = &option;
    if (!schema)
      value.fail("the converter has no option \"" + printable(key, 80) + "\"",
                 did_you_mean(key, names) + "name options of this converter");
    options[key] = parse_option_value(value.member(key), *schema);
  }
  return options;
}

}  // namespace

ConverterClaims parse_claims(const NoteValue& converter, const config::ConverterSchema& schema,
                             bool strict) {
  ConverterClaims claims;
  if (converter.has("numerics"))
    claims.numerics = parse_numerics(converter.member("numerics"), strict);
  if (converter.has("validate_with"))
    claims.validate_with = parse_validate_with(converter.member("validate_with"), schema);
  return claims;
}

std::string claim_text(const NumericsClaim& claim) {
  switch (claim.kind) {
    case NumericsClaim::Kind::kOtherFunction: return {};
    case NumericsClaim::Kind::kExact: return "exact";
    case NumericsClaim::Kind::kApproximate: return "sqnr_db " + shortest_float(claim.sqnr_db);
    case NumericsClaim::Kind::kStraightThrough: return "straight_through";
  }
  return {};
}

}  // namespace titan::plugins
