/// Every recipe's casts on the CPU against the reference data: scales, bytes and values, bit for
/// bit.
#include "cpu_cast.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "cpu_quantize.h"
#include "scale.h"
#include "support.h"

namespace float8::test {
namespace {

template <class T>
std::vector<T> elements_of(const Matrix& matrix) {
  const auto* data = static_cast<const T*>(matrix.const_data_ptr());
  return {data, data + matrix.numel()};
}

constexpr Cast kVectorPow2{Granularity::kVector, Format::kE4M3, ScaleRule::kPowerOfTwo};
constexpr Cast kMx{Granularity::k1x32, Format::kE4M3, ScaleRule::kRoundUpE8M0};

TEST(CpuCast, ReferenceCases) {
  const GoldenFile file("float8/quant_cases.safetensors");
  const auto cases = titan::test::golden_json("float8/quant_cases.json");
  const struct {
    const char* recipe;
    Cast cast;
    Along along;
  } rows[] = {
      {"tensorwise_e4m3",
       {Granularity::kTensor, Format::kE4M3, ScaleRule::kExact},
       Along::kColumns},
      {"tensorwise_e5m2", {Granularity::kTensor, Format::kE5M2, ScaleRule::kExact}, Along::kRows},
      {"tensorwise_e4m3_pow2",
       {Granularity::kTensor, Format::kE4M3, ScaleRule::kPowerOfTwo},
       Along::kColumns},
      {"rowwise_e4m3_lastdim",
       {Granularity::kVector, Format::kE4M3, ScaleRule::kExact},
       Along::kColumns},
      {"rowwise_e4m3_lastdim_pow2", kVectorPow2, Along::kColumns},
      {"rowwise_e4m3_dim0_pow2", kVectorPow2, Along::kRows},
  };
  int compared = 0;
  for (const auto& [name, facts] : cases.items())
    for (const auto& row : rows) {
      if (!facts.at("recipes").contains(row.recipe)) continue;
      const std::string base = name + "/" + row.recipe + "/";
      const Matrix x = make_matrix(file[name + "/x"]);
      const Matrix scales = scales_of(x, row.cast, row.along);
      EXPECT_EQ(difference(elements_of<float>(scales), file[base + "scale"].as<float>()), "")
          << base;
      EXPECT_EQ(difference(row.cast.format,
                           elements_of<uint8_t>(cast_to_bytes(x, row.cast, row.along, scales)),
                           file[base + "fp8"].as<uint8_t>()),
                "")
          << base;
      EXPECT_EQ(difference(elements_of<float>(emulate_cast(x, row.cast, row.along, scales)),
                           file[base + "dequant"].as<float>()),
                "")
          << base;
      ++compared;
    }
  EXPECT_GE(compared, 120);
}

TEST(CpuCast, BlocksOf128) {
  const GoldenFile file("float8/blockwise.safetensors");
  const Cast vector{Granularity::k1x128, Format::kE4M3, ScaleRule::kExact};
  const Cast square{Granularity::k128x128, Format::kE4M3, ScaleRule::kExact};
  const struct {
    const char *x, *reference;
    Cast cast;
    bool transposed;  ///< the reference casts x^T along its rows
  } rows[] = {
      {"lin/x", "lin/torchao/x_1x128", vector, false},
      {"lin/grad_output", "lin/torchao/g_1x128", vector, false},
      {"lin/w", "lin/torchao/w_128x128", square, false},
      {"lin/x", "lin/torchao/xT_1x128", vector, true},
      {"lin/grad_output", "lin/torchao/gT_1x128", vector, true},
      {"edge_rows_bf16/x", "edge_rows_bf16/torchao/1x128", vector, false},
      {"edge_rows_bf16/x", "edge_rows_bf16/torchao/128x128", square, false},
      {"pad_k200_f32/x", "pad_k200_f32/torchao/1x128", vector, false},
      {"pad_k200_f32/x", "pad_k200_f32/torchao/128x128", square, false},
      {"tiny_f32/x", "tiny_f32/torchao/1x128", vector, false},
      {"tiny_f32/x", "tiny_f32/torchao/128x128", square, false},
  };
  for (const auto& row : rows) {
    const Matrix x = make_matrix(file[row.x]);
    const Along along = row.transposed ? Along::kRows : Along::kColumns;
    const Matrix scales = scales_of(x, row.cast, along);
    std::vector<float> inverse = elements_of<float>(scales);
    for (float& scale : inverse) scale = reciprocal(scale);
    EXPECT_EQ(difference(inverse, file[std::string(row.reference) + "/scale_inv"].as<float>()), "")
        << row.reference;
    std::vector<uint8_t> bytes = elements_of<uint8_t>(cast_to_bytes(x, row.cast, along, scales));
    if (row.transposed) {
      std::vector<uint8_t> turned(bytes.size());
      const size_t height = static_cast<size_t>(x.size(0)), width = static_cast<size_t>(x.size(1));
      for (size_t i = 0; i < height; ++i)
        for (size_t j = 0; j < width; ++j) turned[j * height + i] = bytes[i * width + j];
      bytes = turned;
    }
    EXPECT_EQ(
        difference(Format::kE4M3, bytes, file[std::string(row.reference) + "/fp8"].as<uint8_t>()),
        "")
        << row.reference;
  }
}

TEST(CpuCast, BlocksOf32WithE8M0Scales) {
  const GoldenFile file("float8/mxfp8.safetensors");
  const auto cases = titan::test::golden_json("float8/mxfp8.json").at("cases");
  int compared = 0, poisoned = 0;
  for (const auto& [name, facts] : cases.items()) {
    // An infinity must show: of such a block all values are NaN.
    const bool poison = file.tensors().count(name + "/rceil_poison/e8m0") > 0;
    const std::string base = name + (poison ? "/rceil_poison/" : "/rceil_exact/");
    const Matrix x = make_matrix(file[name + "/x"]);
    const std::vector<uint8_t> exponents = file[base + "e8m0"].as<uint8_t>();
    std::vector<float> expected;
    for (const uint8_t exponent : exponents) expected.push_back(scale_of_e8m0(exponent));
    const Matrix scales = scales_of(x, kMx, Along::kColumns);
    EXPECT_EQ(difference(elements_of<float>(scales), expected), "") << base;
    EXPECT_EQ(difference(Format::kE4M3,
                         elements_of<uint8_t>(cast_to_bytes(x, kMx, Along::kColumns, scales)),
                         file[base + "fp8"].as<uint8_t>()),
              "")
        << base;
    if (!poison) {
      EXPECT_EQ(difference(elements_of<float>(emulate_cast(x, kMx, Along::kColumns, scales)),
                           file[base + "dequant"].as<float>()),
                "")
          << base;
    }
    ++(poison ? poisoned : compared);
  }
  EXPECT_GE(compared, 18);
  EXPECT_GE(poisoned, 1);
}

/// All at once gives what scales and casts give one by one, in every layout; and bfloat16 holds the
/// values of the formats: with their scales undone if these are powers of two.
TEST(CpuCast, OnePassAndBfloat16GiveTheSameValues) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{300, 1100}, {7, 33}, {128, 32}}) {
    std::vector<float> drawn(static_cast<size_t>(rows * columns));
    for (float& value : drawn)
      value = std::ldexp(normal(random), static_cast<int>(random() % 20U) - 10);
    const Matrix x = make_matrix(drawn.data(), rows, columns, ScalarType::Float);
    for (const Granularity granularity :
         {Granularity::kTensor, Granularity::kVector, Granularity::k1x128, Granularity::k128x128,
          Granularity::k1x32})
      for (const Format format : kFormats)
        for (const ScaleRule rule :
             {ScaleRule::kExact, ScaleRule::kPowerOfTwo, ScaleRule::kRoundUpE8M0})
          for (const Along along : {Along::kColumns, Along::kRows}) {
            const Cast cast{granularity, format, rule};
            const Matrix scales = scales_of(x, cast, along);
            const std::vector<float> emulated =
                elements_of<float>(emulate_cast(x, cast, along, scales));
            const Scaled wide = scale_and_cast(x, cast, along, CastTo::kFloat32);
            ASSERT_EQ(elements_of<float>(wide.scales), elements_of<float>(scales));
            ASSERT_EQ(elements_of<float>(wide.values), emulated);
            const Scaled bytes = scale_and_cast(x, cast, along, CastTo::kBytes);
            ASSERT_EQ(elements_of<uint8_t>(bytes.values),
                      elements_of<uint8_t>(cast_to_bytes(x, cast, along, scales)));
            const std::vector<uint16_t> narrow =
                elements_of<uint16_t>(scale_and_cast(x, cast, along, CastTo::kNarrow).values);
            const std::vector<uint8_t> codes = elements_of<uint8_t>(bytes.values);
            for (size_t i = 0; i < narrow.size(); ++i)
              ASSERT_EQ(load_float(narrow[i]),
                        is_undone(cast) ? emulated[i]
                                        : static_cast<float>(reference_decode(format, codes[i])));
          }
  }
}

TEST(CpuCast, E8M0Corners) {
  EXPECT_EQ(bits_of(scale_of_e8m0(0)), 0x7f000000U);    // 2^127
  EXPECT_EQ(bits_of(scale_of_e8m0(254)), 0x00400000U);  // 2^-127, a subnormal
  EXPECT_TRUE(std::isnan(scale_of_e8m0(255)));
  EXPECT_EQ(e8m0_of<Format::kE4M3>(0.0F), 0U);
  EXPECT_EQ(e8m0_of<Format::kE4M3>(448.0F), 127U);
  EXPECT_EQ(e8m0_of<Format::kE4M3>(std::nextafter(448.0F, 1000.0F)), 128U);
  EXPECT_EQ(e8m0_of<Format::kE4M3>(INFINITY), 255U);
  EXPECT_EQ(e8m0_of<Format::kE4M3>(NAN), 255U);
}

TEST(CpuCast, PowersOfTwoAreRoundedDown) {
  for (const float power : {0x1p-126F, 0x1p-3F, 1.0F, 0x1p100F}) {
    EXPECT_EQ(power_of_two_below(power), power);
    EXPECT_EQ(power_of_two_below(std::nextafter(power * 2, 0.0F)), power);
  }
  EXPECT_EQ(power_of_two_below(0.0F), 0.0F);
  EXPECT_TRUE(std::isinf(power_of_two_below(INFINITY)));
  EXPECT_TRUE(std::isnan(power_of_two_below(NAN)));
}

/// 512 x 512 values of a distribution, rounded to bfloat16.
Matrix drawn(const std::string& distribution) {
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  std::student_t_distribution<double> student(3);
  std::uniform_real_distribution<double> uniform;
  std::vector<uint16_t> bits(512 * 512);
  double spread = 1;
  for (size_t i = 0; i < bits.size(); ++i) {
    if (i % 512 == 0) spread = std::exp(2 * normal(random));
    double value = distribution == "student_t3" ? student(random) : normal(random);
    if (distribution == "outlier_1e-4_x100" && uniform(random) < 1e-4) value *= 100;
    if (distribution == "grad_rowvar") value *= spread;
    const uint32_t wide = bits_of(static_cast<float>(value));
    bits[i] = static_cast<uint16_t>((wide + 0x7fffU + (wide >> 16 & 1U)) >> 16);
  }
  return make_matrix(bits.data(), 512, 512, ScalarType::BFloat16);
}

double sqnr_db(const std::vector<double>& exact, const std::vector<double>& got) {
  double signal = 0, noise = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    signal += exact[i] * exact[i];
    noise += (exact[i] - got[i]) * (exact[i] - got[i]);
  }
  return 10 * std::log10(signal / noise);
}

/// The figures belong to draws of their own. Another draw of the same distribution has another
/// heaviest value, which decides for a whole tensor: hence the margins of two decibels and three
/// times the losses.
TEST(CpuCast, SignalToNoiseAndUnderflowOfEveryGranularity) {
  const auto figures = titan::test::golden_json("float8/sqnr.json").at("quant");
  const std::map<std::string, Cast> casts = {
      {"tensorwise e4m3", {Granularity::kTensor, Format::kE4M3, ScaleRule::kExact}},
      {"tensorwise e5m2", {Granularity::kTensor, Format::kE5M2, ScaleRule::kExact}},
      {"tensorwise_pow2 e4m3", {Granularity::kTensor, Format::kE4M3, ScaleRule::kPowerOfTwo}},
      {"rowwise e4m3", {Granularity::kVector, Format::kE4M3, ScaleRule::kExact}},
      {"rowwise_pow2 e4m3", kVectorPow2},
      {"blk_1x128_f32 e4m3", {Granularity::k1x128, Format::kE4M3, ScaleRule::kExact}},
      {"blk_1x128_pow2 e4m3", {Granularity::k1x128, Format::kE4M3, ScaleRule::kPowerOfTwo}},
      {"blk_128x128_f32 e4m3", {Granularity::k128x128, Format::kE4M3, ScaleRule::kExact}},
  };
  int compared = 0;
  for (const auto& figure : figures) {
    const auto found = casts.find(figure.at("recipe").get<std::string>() + " " +
                                  figure.at("fmt").get<std::string>());
    if (found == casts.end()) continue;
    for (const char* distribution : {"normal", "outlier_1e-4_x100", "student_t3", "grad_rowvar"}) {
      const Matrix x = drawn(distribution);
      const Matrix scales = scales_of(x, found->second, Along::kColumns);
      const std::string where = found->first + " " + distribution;
      const double expected = figure.at("sqnr_db").at(distribution).get<double>();
      EXPECT_GT(
          sqnr_db(values_of(x), values_of(emulate_cast(x, found->second, Along::kColumns, scales))),
          expected - 2)
          << where;
      const double lost = figure.at("flushed_to_zero_pct").at(distribution).get<double>();
      EXPECT_LE(100 * loss_of_cast(x, found->second, Along::kColumns, scales).underflow,
                3 * lost + 0.02)
          << where;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 4 * static_cast<int>(casts.size()));
}

TEST(CpuCast, LossesAreWhatTheBytesSay) {
  const GoldenFile file("float8/quant_cases.safetensors");
  for (const char* name : {"outlier_bf16", "normal_f32", "zero_row_col_bf16", "ties_f32"}) {
    const Matrix x = make_matrix(file[std::string(name) + "/x"]);
    const std::vector<double> values = values_of(x);
    for (const Along along : {Along::kColumns, Along::kRows})
      for (const Cast& cast :
           {Cast{Granularity::kTensor, Format::kE4M3, ScaleRule::kExact}, kVectorPow2, kMx}) {
        const Matrix scales = scales_of(x, cast, along);
        const std::vector<uint8_t> bytes =
            elements_of<uint8_t>(cast_to_bytes(x, cast, along, scales));
        double non_zero = 0, lost = 0;
        for (size_t i = 0; i < bytes.size(); ++i) {
          non_zero += values[i] != 0;
          lost += values[i] != 0 && (bytes[i] & 0x7f) == 0;
        }
        EXPECT_DOUBLE_EQ(loss_of_cast(x, cast, along, scales).underflow, lost / non_zero) << name;
      }
    // A stale scale that is too large saturates what lies beyond it.
    Matrix half =
        scales_of(x, {Granularity::kTensor, Format::kE4M3, ScaleRule::kExact}, Along::kColumns);
    *static_cast<float*>(half.mutable_data_ptr()) *= 4;
    EXPECT_GT(loss_of_cast(x, {Granularity::kTensor, Format::kE4M3, ScaleRule::kExact},
                           Along::kColumns, half)
                  .saturation,
              0)
        << name;
  }
}

}  // namespace
}  // namespace float8::test
