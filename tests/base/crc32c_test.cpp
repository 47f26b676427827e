/// CRC-32C against published values, and in pieces.
#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace titan {
namespace {

TEST(Crc32cTest, PublishedValues) {
  EXPECT_EQ(crc32c(0, ""), 0u);
  EXPECT_EQ(crc32c(0, "123456789"), 0xe3069283u);
  // RFC 3720, appendix B.4.
  EXPECT_EQ(crc32c(0, std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(0, std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  EXPECT_EQ(crc32c(0, rising), 0x46dd794eu);
  EXPECT_EQ(crc32c(0, std::string(rising.rbegin(), rising.rend())), 0x113fdb5cu);
}

TEST(Crc32cTest, PiecesGiveTheSameAsTheWhole) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += static_cast<char>(i * 37);
  const uint32_t whole = crc32c(0, bytes);
  for (size_t cut = 0; cut <= bytes.size(); ++cut)
    EXPECT_EQ(crc32c(crc32c(0, bytes.substr(0, cut)), std::string_view(bytes).substr(cut)), whole)
        << cut;
}

TEST(Crc32cTest, EveryBitCounts) {
  const std::string bytes(50, 'x');
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(crc32c(0, changed), crc32c(0, bytes)) << bit;
  }
}

}  // namespace
}  // namespace titan
