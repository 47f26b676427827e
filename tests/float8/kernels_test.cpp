/// The device kernels as they ship, in loops on the CPU, against the CPU's casts (which equal the
/// reference data bit for bit) and against reference layouts: same bytes and scales in both
/// layouts, zeros where padded, nothing written outside.
#include "cuda/kernels.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <titan/cpp/error.hpp>

#include "cpu_quantize.h"
#include "cuda/tile.h"
#include "float8/cast_reference.h"
#include "launch_log.h"
#include "support.h"

namespace float8::test {
namespace {

using device::CastArguments;
using device::CastRequest;
using device::divide_up;
using device::quantise;
using device::Quantised;
using device::round_up;

TEST(Kernels, CastsEqualTheCpuInBothLayouts) {
  std::mt19937 random(5);
  for (const Kind& kind : kKinds)
    for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16})
      for (const int64_t rows : {1, 17, 64, 130})
        for (const int64_t columns : {32, 96, 160, 288})
          for (const bool poisoned : {false, true}) {
            const Matrix x = sample(random, rows, columns, type, poisoned);
            const int64_t padded = round_up(rows, kind.multiple);
            const std::string where = std::string(kind.name) + " " + std::to_string(rows) + " x " +
                                      std::to_string(columns) +
                                      (type == ScalarType::Float ? " float32" : " bfloat16") +
                                      (poisoned ? " poisoned" : "");
            CastRequest request{kind.cast, kind.cast, std::nullopt, false, padded, nullptr};
            const Quantised both = quantise(x, request);
            const Matrix reference = with_zero_rows(x, padded);
            ASSERT_EQ(layout_difference(reference, kind.cast, Along::kColumns, *both.rows), "")
                << where << " rows";
            ASSERT_EQ(layout_difference(reference, kind.cast, Along::kRows, *both.columns), "")
                << where << " columns";
            // One layout alone is the same.
            request.columns.reset();
            EXPECT_EQ(bytes_of(quantise(x, request).rows->bytes), bytes_of(both.rows->bytes))
                << where;
            std::swap(request.rows, request.columns);
            const Quantised columns_alone = quantise(x, request);
            EXPECT_FALSE(columns_alone.rows);
            EXPECT_EQ(bytes_of(columns_alone.columns->bytes), bytes_of(both.columns->bytes))
                << where;
            EXPECT_EQ(bytes_of(columns_alone.columns->scales), bytes_of(both.columns->scales))
                << where;
          }
}

TEST(Kernels, NothingIsWrittenOutside) {
  std::mt19937 random(7);
  constexpr uint8_t kCanary = 0xa5;
  constexpr int64_t kMargin = 64;
  for (const Kind& kind : kKinds) {
    const int64_t rows = 70, columns = 160, padded = round_up(rows, kind.multiple);
    const Matrix x = sample(random, rows, columns, ScalarType::BFloat16, false);
    std::vector<uint8_t> row_out(static_cast<size_t>(padded * columns + kMargin), kCanary),
        column_out = row_out;
    const int64_t scales = std::max({padded * 2, columns * 2, device::swizzled_size(padded, 5),
                                     device::swizzled_size(columns, 3)}) *
                           4;
    std::vector<uint8_t> row_scales(static_cast<size_t>(scales + kMargin), kCanary),
        column_scales = row_scales;
    std::vector<int32_t> maxima(static_cast<size_t>(padded + columns), 0);
    std::vector<float> sums(static_cast<size_t>(divide_up(rows, device::kTile) * columns) + 1,
                            -1.0F);
    CastArguments a{};
    a.x = x.const_data_ptr(), a.rows = rows, a.columns = columns, a.padded_rows = padded;
    a.row_out = row_out.data(), a.column_out = column_out.data(), a.row_scales = row_scales.data(),
    a.column_scales = column_scales.data();
    a.amax_bits = a.row_amax = a.column_amax = maxima.data();
    a.column_sums = sums.data();
    ASSERT_EQ(
        launch_cast(a, InputType::kBFloat16, kind.cast.format, kind.cast.granularity, nullptr),
        nullptr);
    for (const auto* memory : {&row_out, &column_out, &row_scales, &column_scales})
      EXPECT_EQ(std::vector<uint8_t>(memory->end() - kMargin, memory->end()),
                std::vector<uint8_t>(kMargin, kCanary))
          << kind.name;
    EXPECT_EQ(sums.back(), -1.0F);
  }
}

TEST(Kernels, ReferenceBytesAndScalesOfBlocks) {
  const GoldenFile file("float8/blockwise.safetensors");
  for (const bool power_of_two : {false, true}) {
    const std::string base = std::string("lin/") + (power_of_two ? "te/" : "torchao/");
    const Plan plan = plan_of(Recipe::kBlockwise, power_of_two);
    const auto expect = [&](const device::Operand& got, const std::string& name, bool laid_out) {
      EXPECT_EQ(
          difference(Format::kE4M3, bytes_of(got.bytes), file[base + name + "/fp8"].as<uint8_t>()),
          "")
          << base << name;
      if (!laid_out) return;
      EXPECT_EQ(
          difference(floats_of(got.scales), file[base + name + "/scale_inv_cublaslt"].as<float>()),
          "")
          << base << name;
    };
    const Quantised x = quantise(make_matrix(file["lin/x"]),
                                 {plan.y.left, plan.dw.right, std::nullopt, false, 128, nullptr});
    expect(*x.rows, "x_1x128", true);
    expect(*x.columns, "xT_1x128", false);
    const Quantised grad =
        quantise(make_matrix(file["lin/grad_output"]),
                 {plan.dx.left, plan.dw.left, std::nullopt, false, 128, nullptr});
    expect(*grad.rows, "g_1x128", false);
    expect(*grad.columns, "gT_1x128", false);
    expect(*quantise(make_matrix(file["lin/w"]),
                     {plan.y.right, plan.dx.right, std::nullopt, false, 128, nullptr})
                .rows,
           "w_128x128", true);
  }
}

TEST(Kernels, ReferenceSwizzle) {
  const GoldenFile file("float8/mxfp8.safetensors");
  const auto in = file["swizzle/in_160x6"].as<uint8_t>(),
             expected = file["swizzle/out"].as<uint8_t>();
  ASSERT_EQ(expected.size(), static_cast<size_t>(device::swizzled_size(160, 6)));
  std::vector<uint8_t> out(expected.size(), 0);
  for (int64_t row = 0; row < 160; ++row)
    for (int64_t block = 0; block < 6; ++block)
      out[static_cast<size_t>(device::swizzled(row, block, 6))] =
          in[static_cast<size_t>(row * 6 + block)];
  EXPECT_EQ(out, expected);
}

TEST(Kernels, AmaxKeepsInfinityAndNaN) {
  std::vector<float> x(1 << 20, 1.0F);
  int32_t bits = 0;
  const auto find = [&] {
    bits = 0;
    EXPECT_EQ(device::launch_amax({x.data(), static_cast<int64_t>(x.size()), &bits, nullptr},
                                  InputType::kFloat32, nullptr),
              nullptr);
    return float_of(static_cast<uint32_t>(bits));
  };
  x.back() = -2.0F;
  EXPECT_EQ(find(), 2.0F);
  x[4097] = -INFINITY;
  EXPECT_EQ(find(), INFINITY);
  x[8191] = NAN;
  EXPECT_TRUE(std::isnan(find()));
  const float set = 1, unset = 0;
  bits = 0;
  device::launch_amax({x.data(), 8192, &bits, &set}, InputType::kFloat32, nullptr);
  EXPECT_EQ(bits, 0) << "a tensor with a stored scale was read";
  device::launch_amax({x.data(), 8192, &bits, &unset}, InputType::kFloat32, nullptr);
  EXPECT_NE(bits, 0);
}

TEST(Kernels, SumsOfRows) {
  std::mt19937 random(9);
  for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16})
    for (const int64_t rows : {1, 128, 300}) {
      const Matrix x = sample(random, rows, 48, type, false);
      const auto values = values_of(x);
      std::vector<double> expected(48);
      for (size_t i = 0; i < values.size(); ++i) expected[i % 48] += values[i];
      CastRequest request;
      request.sums = true;
      request.padded_rows = round_up(rows, 16);
      const double tolerance = type == ScalarType::Float ? 1e-6 : 0x1p-8;
      EXPECT_LE(relative_error(values_of(*quantise(x, request).sums), expected), tolerance);
      request.rows = request.columns = kKinds[3].cast;
      EXPECT_LE(relative_error(values_of(*quantise(x, request).sums), expected), tolerance);
    }
}

TEST(Kernels, StatesOfDelayedMoveAsOnTheCpu) {
  std::mt19937 random(13);
  for (const int64_t length : {1, 2, 3, 255, 256, 257, 1024, 3000})
    for (const AmaxAlgorithm algorithm : {AmaxAlgorithm::kMax, AmaxAlgorithm::kMostRecent}) {
      const DelayedOptions options{length, 1, algorithm};
      device::UpdateArguments a{};
      a.length = length;
      a.most_recent = algorithm == AmaxAlgorithm::kMostRecent;
      std::vector<std::vector<float>> histories, expected;
      std::vector<float> scales(8, 3.0F), expected_scales = scales;
      for (int i = 0; i < 8; ++i) {
        histories.emplace_back();
        for (int64_t j = 0; j < length; ++j)
          histories.back().push_back(static_cast<float>(random() % 1000) * 0.5F);
      }
      histories[0][0] = 0;
      histories[1][0] = INFINITY;
      histories[2][0] = NAN;
      histories[3][0] = std::numeric_limits<float>::denorm_min();
      expected = histories;
      for (size_t i = 0; i < 8; ++i) {
        a.states[a.count++] = {histories[i].data(), &scales[i],
                               largest_scaled(Format::kE5M2, options)};
        update_delayed(expected[i].data(), &expected_scales[i], Format::kE5M2, options);
      }
      ASSERT_EQ(launch_update(a, nullptr), nullptr);
      EXPECT_EQ(histories, expected) << length;
      EXPECT_EQ(scales, expected_scales) << length;
    }
}

TEST(Kernels, MeasuresEqualTheCpus) {
  std::mt19937 random(17);
  for (const Kind& kind : kKinds)
    for (const int64_t rows : {32, 96, 160}) {
      const Matrix x = sample(random, rows, 160, ScalarType::BFloat16, false);
      const CastReport got = device::measure_cast(x, kind.cast, std::nullopt, nullptr);
      const CastReport expected =
          make_emulate_backend()->measure(x, kind.cast, std::nullopt, nullptr);
      EXPECT_EQ(got.amax, expected.amax) << kind.name;
      EXPECT_NEAR(got.scale_min / expected.scale_min, 1, 1e-6) << kind.name;
      EXPECT_NEAR(got.scale_max / expected.scale_max, 1, 1e-6) << kind.name;
      EXPECT_EQ(got.underflow, expected.underflow) << kind.name;
      EXPECT_EQ(got.saturation, expected.saturation) << kind.name;
      EXPECT_NEAR(got.sqnr_db, expected.sqnr_db, 0.01) << kind.name;
    }
}

TEST(Kernels, AMeasureDoesNotLoseANaN) {
  std::mt19937 random(17);
  for (const Kind& kind : kKinds)
    for (const int64_t at :
         {int64_t{0}, int64_t{5}, int64_t{130 * 160 + 131}, int64_t{160 * 160 - 1}}) {
      const Matrix x = sample(random, 160, 160, ScalarType::BFloat16, false);
      Matrix changed = x;
      static_cast<uint16_t*>(changed.mutable_data_ptr())[at] = 0x7fc0;
      EXPECT_TRUE(std::isnan(device::measure_cast(x, kind.cast, std::nullopt, nullptr).amax))
          << kind.name << " " << at;
      EXPECT_TRUE(
          std::isnan(make_emulate_backend()->measure(x, kind.cast, std::nullopt, nullptr).amax))
          << kind.name;
    }
}

/// CUDA's conversion is the hardware's twin, so the two encoders in this plugin agree on a GPU too.
TEST(Kernels, EncodersAgreeOnAllKindsOfFloats) {
  uint32_t state = 99;
  for (int i = 0; i < 400'000; ++i) {
    float x[device::kVector];
    for (float& value : x) {
      state = state * 1664525U + 1013904223U;
      // Exponents around the formats' ranges half the time.
      value = i % 2 ? float_of(state)
                    : float_of((state & 0x807fffffU) | ((100U + (state >> 8) % 45U) << 23));
    }
    const auto e4m3 = device::encode_vector<Format::kE4M3>(x);
    const auto e5m2 = device::encode_vector<Format::kE5M2>(x);
    for (int j = 0; j < device::kVector; ++j) {
      ASSERT_TRUE(same_code(Format::kE4M3, e4m3.of[j], encode<Format::kE4M3>(x[j]))) << x[j];
      ASSERT_TRUE(same_code(Format::kE5M2, e5m2.of[j], encode<Format::kE5M2>(x[j]))) << x[j];
    }
  }
}

/// Every thread counts at `slot` of its number: with a slot for all of them, warps write over each
/// other.
template <int kSlots>
struct CountingKernel {
  struct Arguments {
    int* seen;
  };
  struct Shared {
    int slots[device::kThreads];
  };
  struct Thread {};
  static constexpr int kPhases = 2;
  static void phase(std::integral_constant<int, 0>, const Arguments& a, int64_t, int thread,
                    Shared& shared, Thread&) {
    shared.slots[thread % kSlots] = thread;
    a.seen[thread] = shared.slots[0];
  }
  static void phase(std::integral_constant<int, 1>, const Arguments& a, int64_t, int thread,
                    Shared& shared, Thread&) {
    a.seen[device::kThreads + thread] = shared.slots[0];
  }
};

/// What every other test here rests on: memory of a block is not passed from warp to warp without a
/// barrier.
TEST(Kernels, WarpsThatDoNotWaitForEachOtherShow) {
  int seen[2 * device::kThreads] = {};
  EXPECT_EQ(device::launch_kernel<CountingKernel<device::kThreads>>({seen}, 1, nullptr), nullptr);
  EXPECT_EQ(seen[31], 0);
  EXPECT_EQ(seen[32], 0x55555555) << "a warp saw what another wrote in the same phase";
  EXPECT_EQ(seen[device::kThreads + 32], 0);
  const char* error = device::launch_kernel<CountingKernel<1>>({seen}, 1, nullptr);
  ASSERT_NE(error, nullptr);
  EXPECT_STREQ(error, "two warps write one place between two barriers");
}

TEST(Kernels, AnErrorOfTheLaunchIsToldInItsWords) {
  launch_error() = "an illegal memory access was encountered";
  const float x[256] = {};
  try {
    quantise(make_matrix(x, 16, 16, ScalarType::Float),
             {kKinds[0].cast, std::nullopt, std::nullopt, false, 16, nullptr});
    ADD_FAILURE() << "the error was passed over";
  } catch (const titan::sdk::Error& error) {
    EXPECT_NE(std::string(error.what()).find("on the GPU: an illegal memory access"),
              std::string::npos)
        << error.what();
  }
  launch_error() = nullptr;
}

}  // namespace
}  // namespace float8::test
