/// Typed access to the JSON of a note; every failure names the path of the value.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "config/option_schema.h"
#include "plugins/claims.h"
#include "plugins/rules.h"

namespace titan::plugins {

/// Thrown inside the note parser only; parse_note turns it into a ParsedNote.
struct NoteProblem {
  std::string text;
  std::string hint;
  Rule rule = Rule::kNote;
};

using NoteJson = nlohmann::ordered_json;

/// Parses at most 64 KiB of JSON, at most 16 levels deep, without duplicate keys.
NoteJson parse_note_json(std::string_view text);

/// A value and where it stands.
struct NoteValue {
  const NoteJson& json;
  std::string path;  ///< "converters[0].options[1].default"; empty for the whole note

  NoteValue member(const std::string& key) const;
  NoteValue item(size_t index) const;
  bool has(const std::string& key) const { return json.contains(key); }
  [[noreturn]] void fail(const std::string& text, const std::string& hint = {},
                         Rule rule = Rule::kNote) const;

  const std::string& text() const;     ///< a string
  std::string line(size_t max) const;  ///< a string without control characters
  int64_t integer() const;
  void need_object() const;
  void need_array(size_t max_items) const;
  /// Refuses members that are not listed, naming the nearest one.
  void only_members(std::initializer_list<std::string_view> known) const;
};

/// One element of `options`.
config::OptionSchema parse_option(const NoteValue& option, bool strict);
/// A value for the option, of its type and within its range.
config::OptionValue parse_option_value(const NoteValue& value, const config::OptionSchema& option);
/// "numerics" and "validate_with" of one element of `converters`, whose schema was read before.
ConverterClaims parse_claims(const NoteValue& converter, const config::ConverterSchema& schema,
                             bool strict);

}  // namespace titan::plugins
