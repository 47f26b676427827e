/// Regular expressions of tokenizer files, translated to PCRE2 without a change of meaning.
#pragma once

#include <string>
#include <string_view>

namespace titan::data {

/// Whose engine a pattern was written for.
enum class PatternDialect {
  kOniguruma,  ///< Hugging Face tokenizers: Oniguruma, Ruby syntax
  kRust,       ///< tiktoken: the crates regex and fancy-regex
};

/// The pattern in PCRE2's syntax, for the options UTF and UCP (and MULTILINE for kOniguruma, as ^
/// and $ always match at lines in Ruby syntax). \s is White_Space, \d is Nd; properties are general
/// categories of Unicode 16. Whatever the engines read differently, or what no tokenizer known to
/// the authors uses, is refused: a data error that names the construct and `where` it was found.
std::string to_pcre2(std::string_view pattern, PatternDialect dialect, const std::string& where);

/// A pattern that matches just `text`.
std::string literal_pattern(std::string_view text);

}  // namespace titan::data
