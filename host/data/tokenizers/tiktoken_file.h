/// Vocabularies in tiktoken's format: one `BASE64 RANK` a line, ids are ranks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/bpe_tokenizer.h"

namespace titan::data {

/// What such a file does not tell: the pattern that cuts the text, and the special tokens.
struct TiktokenPreset {
  std::string name;  ///< "llama3", ...
  int64_t ranks;     ///< of its own vocabulary; special ids begin near there
};

/// llama3, qwen, cl100k, o200k, gpt2, each as the original program defines it.
const std::vector<TiktokenPreset>& tiktoken_presets();

/// The preset whose vocabulary has this many ranks; null if none has.
const TiktokenPreset* preset_of_ranks(int64_t ranks);

/// Number of lines that hold something, without reading them.
int64_t count_tiktoken_lines(std::string_view text);

/// The ids of the result are those of tiktoken's Encoding.encode_ordinary(), and of _encode_bytes()
/// for text that is no UTF-8 (with specials_are_text false: of encode(allowed_special="all")). A
/// file of another size than the preset's own gets its special tokens right behind its ranks.
/// Throws a data error that names `where` and the line.
BpeTokenizerParts read_tiktoken(std::string_view text, const std::string& where,
                                const TiktokenPreset& preset);

}  // namespace titan::data
