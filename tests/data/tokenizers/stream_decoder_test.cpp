/// Streaming: characters come out whole, and all together nothing is lost.
#include "data/tokenizers/stream_decoder.h"

#include <gtest/gtest.h>

#include "data/tokenizers/utf8.h"

namespace titan::data {
namespace {

TEST(StreamDecoderTest, ACharacterWaitsForItsLastByte) {
  const ByteTokenizer tokenizer;
  StreamDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.push('a'), "a");
  EXPECT_EQ(decoder.push(0xF0), "");
  EXPECT_EQ(decoder.push(0x9F), "");
  EXPECT_EQ(decoder.push(0x99), "");
  EXPECT_EQ(decoder.push(0x82), "🙂");
  EXPECT_EQ(decoder.push(ByteTokenizer::kEos), "");
  EXPECT_EQ(decoder.finish(), "");
}

TEST(StreamDecoderTest, BrokenCharactersAreReplaced) {
  const ByteTokenizer tokenizer;
  StreamDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.push(0xE4), "");
  EXPECT_EQ(decoder.push('z'), "\xEF\xBF\xBDz");
  EXPECT_EQ(decoder.push(0xC3), "");
  EXPECT_EQ(decoder.finish(), "\xEF\xBF\xBD");
  EXPECT_EQ(decoder.push(9999), "\xEF\xBF\xBD");
}

TEST(StreamDecoderTest, AnySequenceOfBytesGivesTheSameTextAsAtOnce) {
  const ByteTokenizer tokenizer;
  uint32_t state = 1;
  for (int round = 0; round < 500; ++round) {
    std::vector<int64_t> ids;
    for (int i = 0; i < 40; ++i) {
      state = state * 1664525u + 1013904223u;
      constexpr unsigned char kBytes[] = {'a',  0x80, 0xBF, 0xC3, 0xE4,
                                          0xB8, 0xF0, 0x9F, 0xED, 0xFF};
      ids.push_back(kBytes[(state >> 16) % sizeof kBytes]);
    }
    StreamDecoder decoder(tokenizer);
    std::string text;
    for (const int64_t id : ids) {
      const std::string part = decoder.push(id);
      ASSERT_EQ(utf8_prefix(part).valid, part.size());
      text += part;
    }
    text += decoder.finish();
    ASSERT_EQ(text, with_replacements(tokenizer.decode(ids)));
  }
}

}  // namespace
}  // namespace titan::data
