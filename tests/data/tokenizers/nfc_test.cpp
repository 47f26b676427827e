/// Normalization form C: compositions, order of marks, and long runs of them.
#include "data/tokenizers/nfc.h"

#include <gtest/gtest.h>

namespace titan::data {
namespace {

TEST(NfcTest, Composes) {
  EXPECT_EQ(to_nfc("plain ASCII"), "plain ASCII");
  EXPECT_EQ(to_nfc("cafe\u0301"), "caf\u00e9");
  EXPECT_EQ(to_nfc("\u0301 lone"), "\u0301 lone");
  EXPECT_EQ(to_nfc("\u212b \u2126"), "\u00c5 \u03a9") << "singletons become what they stand for";
  EXPECT_EQ(to_nfc("\u1100\u1161\u11a8"), "\uac01") << "Hangul";
  EXPECT_EQ(to_nfc("\u0958"), "\u0915\u093c") << "excluded from composition";
  EXPECT_EQ(to_nfc(std::string("a\0e\u0301", 5)), std::string("a\0\u00e9", 4));
}

TEST(NfcTest, OrdersMarksByClassAndKeepsEqualOnes) {
  EXPECT_EQ(to_nfc("q\u0307\u0323"), "q\u0323\u0307");
  EXPECT_EQ(to_nfc("q\u0323\u0307"), "q\u0323\u0307");
  EXPECT_EQ(to_nfc("q\u0301\u0302"), "q\u0301\u0302");
  EXPECT_EQ(to_nfc("d\u0307\u0323"), "\u1e0d\u0307");
}

TEST(NfcTest, ManyMarksTakeLinearTime) {
  std::string text = "a";
  for (int i = 0; i < 200000; ++i) text += i % 2 ? "\u0307" : "\u0323";
  const std::string normal = to_nfc(text);
  EXPECT_EQ(normal.size(), text.size() - 1 + 3 - 2) << "a and the first mark become one character";
  EXPECT_EQ(to_nfc(normal), normal);
}

}  // namespace
}  // namespace titan::data
