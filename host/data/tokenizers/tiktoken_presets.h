/// Patterns and special tokens of the vocabularies that come as tiktoken files.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace titan::data {

struct TiktokenDefinition {
  std::string pattern;
  bool nfc = false;
  /// Ids, counted from the number of ranks, and texts.
  std::vector<std::pair<int64_t, std::string>> specials;
  std::string bos, eos;  ///< texts of special tokens; empty: none
};

/// `name` is one of tiktoken_presets().
TiktokenDefinition tiktoken_definition(const std::string& name);

}  // namespace titan::data
