/// The device kernels' bodies, run thread by thread on the CPU, against reference casts and the CPU
/// quantiser: same bytes in both layouts, zeros where padded, nothing written outside.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "cpu_quantize.h"
#include "host_kernels.h"
#include "scale.h"
#include "support.h"

namespace float8::test {
namespace {

constexpr uint8_t kCanary = 0xa5;
constexpr size_t kMargin = 64;

struct Result {
  int32_t amax_bits = 0;
  float inverse_scale = 0;
  std::vector<uint8_t> rows, columns;
  bool wrote_outside = false;
};

Result run(const void* x, InputType type, int64_t rows, int64_t columns, int64_t padded, Format format) {
  Result result;
  host_amax(x, type, rows * columns, &result.amax_bits, nullptr);
  std::vector<uint8_t> row_out(static_cast<size_t>(rows * columns) + kMargin, kCanary);
  std::vector<uint8_t> column_out(static_cast<size_t>(padded * columns) + kMargin, kCanary);
  device::CastArguments arguments{x, rows, columns, padded, &result.amax_bits, row_out.data(), column_out.data(),
                                  &result.inverse_scale};
  host_cast(arguments, type, format, nullptr);
  for (size_t i = 0; i < kMargin; ++i)
    result.wrote_outside = result.wrote_outside || row_out[row_out.size() - 1 - i] != kCanary ||
                           column_out[column_out.size() - 1 - i] != kCanary;
  result.rows.assign(row_out.begin(), row_out.end() - kMargin);
  result.columns.assign(column_out.begin(), column_out.end() - kMargin);
  return result;
}

std::vector<uint8_t> transpose_padded(const std::vector<uint8_t>& codes, int64_t rows, int64_t columns, int64_t padded) {
  std::vector<uint8_t> result(static_cast<size_t>(columns * padded), 0);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) result[j * padded + i] = codes[i * columns + j];
  return result;
}

TEST(KernelBodies, ReferenceCasts) {
  const GoldenFile file("float8/linear_cases.safetensors");
  const auto cases = titan::test::golden_json("float8/linear_cases.json");
  int compared = 0;
  for (const auto& [name, facts] : cases.items()) {
    if (name.rfind("tensorwise/", 0) != 0) continue;
    struct Operand {
      const char *tensor, *cast;
      Format format;
      bool transposed;
    };
    for (const Operand& operand : {Operand{"x", "x_fwd", Format::kE4M3, false}, {"w", "w_fwd_KN", Format::kE4M3, true},
                                   {"grad_output", "go_dgrad", Format::kE5M2, false}}) {
      const GoldenTensor& x = file[name + "/" + operand.tensor];
      const int64_t columns = x.shape.back(), rows = x.numel() / columns;
      const std::string base = name + "/cast/" + operand.cast;
      const Result got = run(x.bytes.data(), input_type_of(x), rows, columns, operand.transposed ? rows : (rows + 15) / 16 * 16,
                             operand.format);
      EXPECT_FALSE(got.wrote_outside) << base;
      EXPECT_EQ(difference(operand.format, operand.transposed ? got.columns : got.rows, file[base + "/fp8"].as<uint8_t>()), "")
          << base;
      const float scale = file[base + "/scale"].as<float>().at(0);
      EXPECT_TRUE(same_float(got.inverse_scale, 1.0F / scale)) << base;
      ++compared;
    }
  }
  EXPECT_GT(compared, 0);
}

TEST(KernelBodies, AllShapesOfTiles) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (const int64_t rows : {1, 8, 17, 63, 64, 65, 130})
    for (const int64_t columns : {16, 48, 64, 80, 144})
      for (const int64_t padded : {(rows + 15) / 16 * 16, (rows + 15) / 16 * 16 + 48})
        for (const InputType type : {InputType::kFloat32, InputType::kBFloat16})
          for (const Format format : kFormats) {
            std::vector<float> values(static_cast<size_t>(rows * columns));
            std::vector<uint16_t> halves(values.size());
            for (size_t i = 0; i < values.size(); ++i) {
              values[i] = normal(random) * 0.01F;
              halves[i] = static_cast<uint16_t>(bits_of(values[i]) >> 16);
            }
            const void* x = type == InputType::kFloat32 ? static_cast<const void*>(values.data()) : halves.data();
            const CpuQuantizer& cpu = cpu_quantizer();
            const auto amax = cpu.amax_bits(x, type, rows * columns);
            std::vector<uint8_t> expected(values.size());
            cpu.cast(x, type, rows * columns, scale_of(float_of(amax), format), format, expected.data());
            const Result got = run(x, type, rows, columns, padded, format);
            const std::string where = std::to_string(rows) + " x " + std::to_string(columns) + " padded to " + std::to_string(padded);
            ASSERT_EQ(got.amax_bits, static_cast<int32_t>(amax)) << where;
            ASSERT_FALSE(got.wrote_outside) << where;
            ASSERT_EQ(difference(format, got.rows, expected), "") << where;
            ASSERT_EQ(difference(format, got.columns, transpose_padded(expected, rows, columns, padded)), "") << where;
          }
}

TEST(KernelBodies, OneLayoutAlone) {
  const std::vector<float> x(32 * 16, 1.0F);
  int32_t amax = 0;
  float inverse = 0;
  host_amax(x.data(), InputType::kFloat32, 512, &amax, nullptr);
  std::vector<uint8_t> out(512, kCanary);
  host_cast({x.data(), 32, 16, 32, &amax, nullptr, out.data(), &inverse}, InputType::kFloat32, Format::kE4M3, nullptr);
  EXPECT_EQ(out, std::vector<uint8_t>(512, 0x7e));
  out.assign(512, kCanary);
  host_cast({x.data(), 32, 16, 32, &amax, out.data(), nullptr, &inverse}, InputType::kFloat32, Format::kE4M3, nullptr);
  EXPECT_EQ(out, std::vector<uint8_t>(512, 0x7e));
}

TEST(KernelBodies, AmaxKeepsInfinityAndNaN) {
  std::vector<float> x(8192, 1.0F);
  int32_t bits = 0;
  x[4097] = -INFINITY;
  host_amax(x.data(), InputType::kFloat32, 8192, &bits, nullptr);
  EXPECT_EQ(float_of(static_cast<uint32_t>(bits)), INFINITY);
  x[8191] = NAN;
  host_amax(x.data(), InputType::kFloat32, 8192, &bits, nullptr);
  EXPECT_TRUE(std::isnan(float_of(static_cast<uint32_t>(bits))));
}

/// CUDA's conversion is the hardware's twin, so the two encoders in this plugin agree on a GPU too.
TEST(KernelBodies, EncodersAgreeOnAllKindsOfFloats) {
  uint32_t state = 99;
  for (int i = 0; i < 400'000; ++i) {
    float x[device::kVector];
    for (float& value : x) {
      state = state * 1664525U + 1013904223U;
      // Exponents around the formats' ranges half the time.
      value = i % 2 ? float_of(state) : float_of((state & 0x807fffffU) | ((100U + (state >> 8) % 45U) << 23));
    }
    const auto e4m3 = device::encode_vector<Format::kE4M3>(x, 1.0F);
    const auto e5m2 = device::encode_vector<Format::kE5M2>(x, 1.0F);
    for (int j = 0; j < device::kVector; ++j) {
      ASSERT_TRUE(same_code(Format::kE4M3, e4m3.byte[j], encode<Format::kE4M3>(x[j]))) << x[j];
      ASSERT_TRUE(same_code(Format::kE5M2, e5m2.byte[j], encode<Format::kE5M2>(x[j]))) << x[j];
    }
  }
}

}  // namespace
}  // namespace float8::test
