/// Whole tensors through the CPU quantiser: reference cases, then random ones against a slow cast.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "cpu_quantize.h"
#include "support.h"

namespace float8::test {
namespace {

struct Quantized {
  float scale;
  std::vector<uint8_t> codes;
  std::vector<float> back;               ///< codes, decoded and divided by the scale
  std::vector<float> emulated;           ///< the same without codes in between
  std::vector<uint16_t> narrow, undone;  ///< bfloat16 bits of the codes' values; of these times 1/8
};

Quantized quantize(const CpuQuantizer& quantizer, const void* x, InputType type, int64_t n,
                   Format format) {
  Quantized result;
  result.scale = scale_of(float_of(quantizer.amax_bits(x, type, n)), format);
  result.codes.resize(static_cast<size_t>(n));
  result.back.resize(static_cast<size_t>(n));
  result.emulated.resize(static_cast<size_t>(n));
  quantizer.cast(x, type, n, result.scale, format, result.codes.data());
  quantizer.dequantize[static_cast<size_t>(format)](result.codes.data(), n, result.scale,
                                                    result.back.data());
  quantizer.emulate(x, type, n, result.scale, format, result.emulated.data());
  result.narrow.resize(static_cast<size_t>(n));
  result.undone.resize(static_cast<size_t>(n));
  quantizer.narrow(x, type, n, result.scale, 1.0F, format, result.narrow.data());
  quantizer.narrow(x, type, n, result.scale, 0.125F, format, result.undone.data());
  return result;
}

TEST(Quantize, ReferenceCasesAreExact) {
  const GoldenFile file("float8/quant_cases.safetensors");
  const auto cases = titan::test::golden_json("float8/quant_cases.json");
  int compared = 0;
  for (const auto& [name, facts] : cases.items()) {
    const GoldenTensor& x = file[name + "/x"];
    ASSERT_EQ(x.shape, facts.at("shape").get<std::vector<int64_t>>());
    for (const Format format : kFormats) {
      const std::string recipe = std::string("tensorwise_") + name_of(format);
      ASSERT_TRUE(facts.at("recipes").contains(recipe));
      const std::string base = name + "/" + recipe + "/";
      for (const CpuQuantizer* quantizer : cpu_quantizers()) {
        const Quantized got =
            quantize(*quantizer, x.bytes.data(), input_type_of(x), x.numel(), format);
        const std::string where = base + " " + quantizer->name;
        EXPECT_TRUE(same_float(got.scale, file[base + "scale"].as<float>().at(0)))
            << where << " " << got.scale;
        EXPECT_EQ(difference(format, got.codes, file[base + "fp8"].as<uint8_t>()), "") << where;
        EXPECT_EQ(difference(got.back, file[base + "dequant"].as<float>()), "") << where;
        EXPECT_EQ(difference(got.emulated, got.back), "") << where;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 0);
}

TEST(Quantize, VectorsAreExact) {
  const GoldenFile file("llama/float8_vectors.safetensors");
  for (const std::string tensor : {"mild", "wild"})
    for (const std::string type : {"fp32", "bf16"})
      for (const Format format : kFormats) {
        const GoldenTensor& x = file[tensor + "." + type + ".x"];
        const std::string base = tensor + "." + type + "." + name_of(format) + ".tensorwise.exact.";
        const Quantized got =
            quantize(cpu_quantizer(), x.bytes.data(), input_type_of(x), x.numel(), format);
        EXPECT_EQ(got.scale, file[base + "scale"].as<float>().at(0)) << base;
        EXPECT_EQ(difference(format, got.codes, file[base + "bits"].as<uint8_t>()), "") << base;
      }
}

TEST(Quantize, RandomValuesMatchTheSlowCast) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<uint32_t> any;
  for (int round = 0; round < 40; ++round) {
    // Odd lengths, so that the loops' tails are used; half the rounds hold arbitrary bit patterns.
    std::vector<float> x(1 + any(random) % 999);
    for (float& value : x)
      value = round % 2 ? std::ldexp(normal(random), static_cast<int>(any(random) % 60) - 40)
                        : float_of(any(random));
    for (const CpuQuantizer* quantizer : cpu_quantizers())
      for (const Format format : kFormats) {
        double amax = 0;
        bool has_nan = false;
        for (const float value : x) {
          has_nan = has_nan || std::isnan(value);
          amax = std::max<double>(amax, std::fabs(value));
        }
        const Quantized got = quantize(*quantizer, x.data(), InputType::kFloat32,
                                       static_cast<int64_t>(x.size()), format);
        if (has_nan) {
          EXPECT_TRUE(std::isnan(got.scale));
        } else {
          EXPECT_EQ(got.scale, scale_of(static_cast<float>(amax), format));
        }
        for (size_t i = 0; i < x.size(); ++i) {
          const uint8_t expected = reference_encode(format, x[i] * got.scale);
          ASSERT_TRUE(same_code(format, got.codes[i], expected))
              << quantizer->name << " " << name_of(format) << " " << x[i] << " * " << got.scale
              << " gave " << int(got.codes[i]) << ", expected " << int(expected);
          ASSERT_TRUE(same_float(got.emulated[i], got.back[i])) << x[i];
          const auto value = static_cast<float>(reference_decode(format, expected));
          ASSERT_TRUE(same_float(load_float(got.narrow[i]), value)) << x[i];
          ASSERT_TRUE(same_float(load_float(got.undone[i]), value / 8)) << x[i];
        }
      }
  }
}

TEST(Quantize, NonFiniteElementsPoisonTheTensor) {
  for (const float bad : {INFINITY, -INFINITY, NAN}) {
    std::vector<float> x(100, 1.0F);
    x[41] = bad;
    for (const CpuQuantizer* quantizer : cpu_quantizers()) {
      const Quantized got = quantize(*quantizer, x.data(), InputType::kFloat32, 100, Format::kE4M3);
      for (const float value : got.emulated)
        EXPECT_TRUE(std::isnan(value)) << bad << " " << quantizer->name;
    }
  }
}

TEST(Quantize, EmptyRangeTouchesNothing) {
  for (const CpuQuantizer* quantizer : cpu_quantizers()) {
    EXPECT_EQ(quantizer->amax_bits(nullptr, InputType::kFloat32, 0), 0u);
    EXPECT_EQ(quantizer->amax_bits(nullptr, InputType::kBFloat16, 0), 0u);
    quantizer->cast(nullptr, InputType::kBFloat16, 0, 1.0F, Format::kE5M2, nullptr);
  }
}

}  // namespace
}  // namespace float8::test
