/// tokenizer.json of Hugging Face tokenizers: byte-level BPE.
#pragma once

#include <string>
#include <string_view>

#include "data/tokenizers/bpe_tokenizer.h"

namespace titan::data {

/// Reads a model of type BPE over bytes: normalizers NFC and Sequence, pre-tokenizers Split,
/// Digits, ByteLevel and Sequence, merges in both notations, added tokens. The ids of the result
/// are those of `Tokenizer.encode(text, add_special_tokens=False)`. BOS and EOS are learned from
/// TemplateProcessing, RobertaProcessing and BertProcessing, else from well-known names. What is
/// not supported is refused by its name, a data error like any mistake in the file. Not heeded:
/// truncation and padding (the loader's task), dropout 0, the decoder.
BpeTokenizerParts read_tokenizer_json(std::string_view text, const std::string& where);

/// tokenizer_config.json beside it: bos_token and eos_token go before what tokenizer.json tells;
/// null means that there is none.
void read_tokenizer_config(std::string_view text, const std::string& where,
                           BpeTokenizerParts& parts);

}  // namespace titan::data
