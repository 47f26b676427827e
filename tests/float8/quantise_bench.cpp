/// How fast tensors go through fp8 on the CPU, beside a copy of the same memory. Each line's rate
/// is of the bytes that have to pass: a scale for the whole tensor or for columns takes a second
/// reading. Names: copy | bytes | there_and_back, granularity, format, type of the input.
#include <benchmark/benchmark.h>
#include <malloc.h>
#include <torch/csrc/stable/ops.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "cpu_cast.h"
#include "matrix.h"

namespace float8 {
namespace {

using torch::headeronly::ScalarType;

// Larger than the caches of the machines that are trained on.
constexpr int64_t kRows = 8192, kColumns = 4096;

Matrix bench_input(ScalarType type) {
  const std::array<int64_t, 2> shape{kRows, kColumns};
  Matrix x = torch::stable::full({shape.data(), shape.size()}, 0.0, type);
  auto* data = static_cast<char*>(x.mutable_data_ptr());
  uint32_t state = 1;
  for (int64_t i = 0; i < x.numel(); ++i) {
    state = state * 1664525U + 1013904223U;
    // Between -8 and 8, and never a short mantissa only.
    const float value = (static_cast<float>(state >> 8) / 0x1p24F - 0.5F) * 16;
    const uint32_t bits = bits_of(value);
    if (type == ScalarType::Float)
      std::memcpy(data + i * 4, &bits, 4);
    else
      std::memcpy(data + i * 2, reinterpret_cast<const char*>(&bits) + 2, 2);
  }
  return x;
}

const Matrix& input_of(ScalarType type) {
  static const Matrix wide = bench_input(ScalarType::Float),
                      narrow = bench_input(ScalarType::BFloat16);
  return type == ScalarType::Float ? wide : narrow;
}

void copy(benchmark::State& state) {
  const Matrix& from = input_of(ScalarType::Float);
  Matrix to = new_matrix(from, kRows, kColumns, ScalarType::Float);
  std::memset(to.mutable_data_ptr(), 0, static_cast<size_t>(to.numel()) * 4);
  constexpr int64_t kRowBytes = kColumns * 4;
  for (auto _ : state)
    torch::stable::parallel_for(0, kRows, 1, [&](int64_t begin, int64_t end) {
      std::memcpy(static_cast<char*>(to.mutable_data_ptr()) + begin * kRowBytes,
                  static_cast<const char*>(from.const_data_ptr()) + begin * kRowBytes,
                  static_cast<size_t>((end - begin) * kRowBytes));
    });
  state.SetBytesProcessed(state.iterations() * 2 * kRows * kRowBytes);
}

struct Case {
  const char* name;
  Granularity granularity;
  Along along;
  ScaleRule rule;
  int readings;
};
constexpr Case kCases[] = {
    {"tensor", Granularity::kTensor, Along::kColumns, ScaleRule::kExact, 2},
    {"row", Granularity::kVector, Along::kColumns, ScaleRule::kPowerOfTwo, 1},
    {"column", Granularity::kVector, Along::kRows, ScaleRule::kPowerOfTwo, 2},
    {"block_1x128", Granularity::k1x128, Along::kColumns, ScaleRule::kExact, 1},
    {"block_128x1", Granularity::k1x128, Along::kRows, ScaleRule::kExact, 1},
    {"block_128x128", Granularity::k128x128, Along::kColumns, ScaleRule::kExact, 1},
    {"block_1x32", Granularity::k1x32, Along::kColumns, ScaleRule::kRoundUpE8M0, 1},
    {"block_32x1", Granularity::k1x32, Along::kRows, ScaleRule::kRoundUpE8M0, 1},
};

void quantise(benchmark::State& state, const Case& one, Format format, ScalarType type,
              bool and_back) {
  const Matrix& x = input_of(type);
  const Cast cast{one.granularity, format, one.rule};
  for (auto _ : state) {
    const Scaled made =
        scale_and_cast(x, cast, one.along, and_back ? CastTo::kFloat32 : CastTo::kBytes);
    benchmark::DoNotOptimize(made.values.const_data_ptr());
  }
  const int64_t in = type == ScalarType::Float ? 4 : 2;
  state.SetBytesProcessed(state.iterations() * x.numel() *
                          (one.readings * in + (and_back ? 4 : 1)));
}

void add_all() {
  benchmark::RegisterBenchmark("copy", copy)->UseRealTime()->Unit(benchmark::kMillisecond);
  for (const Case& one : kCases)
    for (const bool and_back : {false, true})
      for (const Format format : {Format::kE4M3, Format::kE5M2})
        for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16}) {
          const std::string name = std::string(and_back ? "there_and_back/" : "bytes/") + one.name +
                                   (format == Format::kE4M3 ? "/e4m3/" : "/e5m2/") +
                                   (type == ScalarType::Float ? "float32" : "bfloat16");
          benchmark::RegisterBenchmark(
              name.c_str(),
              [=](benchmark::State& state) { quantise(state, one, format, type, and_back); })
              ->UseRealTime()
              ->Unit(benchmark::kMillisecond);
        }
}

}  // namespace
}  // namespace float8

int main(int argc, char** argv) {
  // Memory that is freed stays with the process, as a trainer's does: else most of the time would
  // go into the first touch of new pages.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  float8::add_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
