/// Fuzzes tokenizer.json: what is accepted encodes any text, and decodes its own ids.
#include <cstdlib>
#include <memory>

#include "data/tokenizers/tokenizer_json.h"
#include "fuzz/expect_error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  titan::fuzz::allow_errors([&] {
    const auto parts = std::make_shared<titan::data::BpeTokenizerParts>(
        titan::data::read_tokenizer_json(titan::fuzz::text_of(data, size), "fuzz.json"));
    titan::data::BpeTokenizer tokenizer(parts);
    std::vector<int64_t> ids;
    tokenizer.encode("The 123 caf\xc3\xa9s\n\n  \xff \xf0\x9f\x99\x82", ids);
    for (const int64_t id : ids)
      if (!tokenizer.bytes_of(id)) std::abort();
  });
  return 0;
}
