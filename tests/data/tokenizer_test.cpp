/// The byte tokenizer: any bytes survive the way there and back.
#include "data/tokenizer.h"

#include <gtest/gtest.h>

namespace titan::data {
namespace {

TEST(ByteTokenizerTest, EveryByteSurvives) {
  std::string text;
  for (int i = 0; i < 256; ++i) text.push_back(static_cast<char>(i));
  std::vector<int64_t> ids;
  ByteTokenizer tokenizer;
  tokenizer.encode(text, ids);
  ASSERT_EQ(ids.size(), 256u);
  EXPECT_EQ(ids[0], 0);
  EXPECT_EQ(ids[255], 255) << "bytes above 127 are not negative";
  EXPECT_EQ(tokenizer.decode(ids), text);
}

TEST(ByteTokenizerTest, EncodeAppends) {
  std::vector<int64_t> ids = {ByteTokenizer::kBos};
  ByteTokenizer().encode("ab", ids);
  EXPECT_EQ(ids, (std::vector<int64_t>{256, 'a', 'b'}));
}

TEST(ByteTokenizerTest, DecodeDropsSpecialsAndShowsUnknownIds) {
  const std::vector<int64_t> ids = {256, 'h', 'i', 257, 258, 259, -1};
  EXPECT_EQ(ByteTokenizer().decode(ids), "hi\xEF\xBF\xBD\xEF\xBF\xBD");
}

}  // namespace
}  // namespace titan::data
