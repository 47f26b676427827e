/// The parts of tokenizer.json around its model: normalizer, pre_tokenizer, post_processor.
#pragma once

#include "data/tokenizers/bpe_tokenizer.h"
#include "data/tokenizers/json_view.h"

namespace titan::data {

/// Sets `nfc`; `file` is the whole document.
void read_normalizer(const JsonView& file, BpeTokenizerParts& parts);
/// Sets `stages`.
void read_pre_tokenizer(const JsonView& file, BpeTokenizerParts& parts);
/// Sets `bos` and `eos` as far as the post-processor tells them.
void read_post_processor(const JsonView& file, BpeTokenizerParts& parts);

}  // namespace titan::data
