/// Numbers as people read them, and back.
#include "base/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

namespace titan {
namespace {

TEST(Numbers, CommasEveryThreeDigits) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(1234567), "1,234,567");
  EXPECT_EQ(with_commas(-999), "-999");
  EXPECT_EQ(with_commas(-1234), "-1,234");
  EXPECT_EQ(with_commas(std::numeric_limits<int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Numbers, NineDigitsKeepAFloat) {
  float value = 0.1f;
  for (int i = 0; i < 1000; ++i) {
    value = std::nextafter(value * 1.37f, 1e30f);
    EXPECT_EQ(std::strtof(float9(value).c_str(), nullptr), value);
  }
}

TEST(Numbers, ShortestFloatReadsBackAndLooksLikeAFloat) {
  EXPECT_EQ(shortest_float(0.0008), "0.0008");
  EXPECT_EQ(shortest_float(1e-8), "1e-08");
  EXPECT_EQ(shortest_float(1), "1.0");
  EXPECT_EQ(shortest_float(-3), "-3.0");
  EXPECT_EQ(shortest_float(500000), "500000.0");
  for (const double value : {0.1, 1.0 / 3.0, 1e300, 1e-300, 123456789.123, 5e-324}) {
    EXPECT_EQ(std::strtod(shortest_float(value).c_str(), nullptr), value);
  }
}

TEST(Numbers, Gib) {
  EXPECT_EQ(gib(0), "0.00GiB");
  EXPECT_EQ(gib(uint64_t{3} << 29), "1.50GiB");
}

}  // namespace
}  // namespace titan
