/// Fuzzes tiktoken files: what is accepted encodes any text without losing a byte.
#include <cstdlib>
#include <memory>

#include "data/tokenizers/tiktoken_file.h"
#include "fuzz/expect_error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  titan::fuzz::allow_errors([&] {
    const auto parts = std::make_shared<titan::data::BpeTokenizerParts>(
        titan::data::read_tiktoken(titan::fuzz::text_of(data, size), "fuzz.tiktoken",
                                   titan::data::tiktoken_presets().front()));
    titan::data::BpeTokenizer tokenizer(parts);
    const std::string text = "The 123 caf\xc3\xa9s\n\n  \xff \xf0\x9f\x99\x82";
    std::vector<int64_t> ids;
    tokenizer.encode(text, ids);
    if (tokenizer.decode(ids) != text) std::abort();
  });
  return 0;
}
