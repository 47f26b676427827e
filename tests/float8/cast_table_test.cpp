/// Every bfloat16 pattern, edge probes and scales against the reference tables.
#include <gtest/gtest.h>

#include "cpu_quantize.h"
#include "scale.h"
#include "support.h"

namespace float8::test {
namespace {

class CastTables : public ::testing::Test {
 protected:
  const GoldenFile file{"float8/cast_tables.safetensors"};
};

TEST_F(CastTables, DecodesEveryCode) {
  for (const Format format : kFormats) {
    const auto expected = file[std::string(name_of(format)) + "_decode_f32"].as<float>();
    ASSERT_EQ(expected.size(), 256u);
    for (int code = 0; code < 256; ++code) {
      const float got = format == Format::kE4M3 ? decode<Format::kE4M3>(static_cast<uint8_t>(code))
                                                : decode<Format::kE5M2>(static_cast<uint8_t>(code));
      EXPECT_TRUE(same_float(got, expected[code]))
          << name_of(format) << " code " << code << ": " << got;
    }
  }
}

TEST_F(CastTables, CastsEveryBFloat16OnEveryInstructionSet) {
  std::vector<uint16_t> patterns(65536);
  for (size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<uint16_t>(i);
  for (const CpuQuantizer* quantizer : cpu_quantizers())
    for (const Format format : kFormats) {
      const auto expected = file[std::string(name_of(format)) + "_from_bf16_bits"].as<uint8_t>();
      std::vector<uint8_t> got(patterns.size());
      quantizer->cast(patterns.data(), InputType::kBFloat16, 65536, 1.0F, format, got.data());
      EXPECT_EQ(difference(format, got, expected), "") << quantizer->name << " " << name_of(format);
    }
}

TEST_F(CastTables, CastsFloat32ProbesOnEveryInstructionSet) {
  const auto bits = file["probe_f32_bits"].as<float>();
  for (const CpuQuantizer* quantizer : cpu_quantizers())
    for (const Format format : kFormats) {
      const auto expected = file[std::string(name_of(format)) + "_from_probe"].as<uint8_t>();
      std::vector<uint8_t> got(bits.size());
      quantizer->cast(bits.data(), InputType::kFloat32, static_cast<int64_t>(bits.size()), 1.0F,
                      format, got.data());
      EXPECT_EQ(difference(format, got, expected), "") << quantizer->name << " " << name_of(format);
    }
}

TEST_F(CastTables, ScalesAreExact) {
  const auto amax = file["scale_probe_amax_f32"].as<float>();
  for (const Format format : kFormats) {
    const auto expected = file[std::string("scale_torchao_") + name_of(format)].as<float>();
    std::vector<float> got;
    for (const float value : amax) got.push_back(scale_of(value, format));
    EXPECT_EQ(difference(got, expected), "") << name_of(format);
  }
}

TEST(Scale, EdgesAreDefined) {
  const float largest = static_cast<float>(448.0 / 1e-12);
  EXPECT_EQ(scale_of(0.0F, Format::kE4M3), largest);
  EXPECT_EQ(scale_of(1e-12F, Format::kE4M3), largest);
  EXPECT_EQ(scale_of(INFINITY, Format::kE4M3), 0.0F);
  EXPECT_TRUE(std::isnan(scale_of(NAN, Format::kE5M2)));
  EXPECT_EQ(scale_of(448.0F, Format::kE4M3), 1.0F);
}

/// The float32 division must round as a float64 division that is rounded once more.
TEST(Scale, EqualsTheFloat64FormulaForRandomAmaxes) {
  uint32_t state = 12345;
  for (int i = 0; i < 2'000'000; ++i) {
    state = state * 1664525U + 1013904223U;
    const float amax = float_of(state & 0x7fffffffU);
    if (!std::isfinite(amax)) continue;
    for (const Format format : kFormats) {
      const double largest = format == Format::kE4M3 ? 448.0 : 57344.0;
      ASSERT_EQ(scale_of(amax, format), static_cast<float>(largest / std::max<double>(amax, 1e-12)))
          << amax;
    }
  }
}

}  // namespace
}  // namespace float8::test
