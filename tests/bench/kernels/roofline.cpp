#include "bench/kernels/roofline.h"

#include <ATen/Parallel.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <hwy/targets.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

namespace titan::bench {
namespace {

template <class Run>
double best_seconds(const Run& run) {
  double best = 1e9;
  for (int i = 0; i < 12; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  return best;
}

void use(int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace

double peak_flops() {
  static const double peak = [] {
    const at::Tensor a = at::randn({1024, 1024}), b = at::randn({1024, 1024});
    at::Tensor c = at::mm(a, b);
    return 2.0 * 1024 * 1024 * 1024 / best_seconds([&] { at::mm_out(c, a, b); });
  }();
  return peak;
}

double copy_bandwidth() {
  static const double bandwidth = [] {
    constexpr int64_t kBytes = int64_t{64} << 20;
    std::vector<char> from(kBytes, 1), to(kBytes, 2);
    const double seconds = best_seconds([&] {
      at::parallel_for(0, kBytes, 1 << 20, [&](int64_t begin, int64_t end) {
        std::memcpy(to.data() + begin, from.data() + begin, static_cast<size_t>(end - begin));
      });
    });
    return 2.0 * static_cast<double>(kBytes) / seconds;
  }();
  return bandwidth;
}

void report(benchmark::State& state, double flops, double bytes) {
  using benchmark::Counter;
  const double iterations = static_cast<double>(state.iterations());
  const double at_best = std::max(flops / peak_flops(), bytes / copy_bandwidth());
  state.counters["GFLOP/s"] = Counter(flops * iterations / 1e9, Counter::kIsRate);
  state.counters["GB/s"] = Counter(bytes * iterations / 1e9, Counter::kIsRate);
  state.counters["roof"] = Counter(at_best * iterations, Counter::kIsRate);
}

Instructions::Instructions(benchmark::State& state) {
  if (state.range(0) != 0) use(HWY_SCALAR);
  state.SetLabel(hwy::TargetName(hwy::SupportedTargets() & -hwy::SupportedTargets()));
}
Instructions::~Instructions() { use(0); }

}  // namespace titan::bench
