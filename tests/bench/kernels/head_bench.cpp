/// The head and its loss, forward and backward: as one, and by torch's operators with a tensor of
/// logits. Memory: the most that tensors held beyond the inputs and the gradients.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/autograd.h>

#include "bench/kernels/roofline.h"
#include "model/allocation_meter.h"
#include "model/loss.h"
#include "model/ops/linear_cross_entropy.h"

namespace titan::bench {
namespace {

constexpr int64_t kVocabulary = 128256, kDim = 256;

struct Input {
  explicit Input(benchmark::State& state)
      : rows(state.range(0)),
        type(state.range(1) != 0 ? at::kBFloat16 : at::kFloat),
        x(at::randn({rows, kDim}).requires_grad_()),
        w((at::randn({kVocabulary, kDim}) / 16).requires_grad_()),
        labels(at::randint(kVocabulary, {rows}, at::kLong)) {}
  int64_t rows;
  at::ScalarType type;
  at::Tensor x, w, labels;
};

at::Tensor as_one(const Input& in) {
  const at::Tensor x = in.x.detach().to(in.type), w = in.w.detach().to(in.type);
  return model::linear_cross_entropy(in.x, in.w, x, w, in.labels, in.rows);
}
at::Tensor by_operators(const Input& in) {
  return model::cross_entropy(at::linear(in.x.to(in.type), in.w.to(in.type)), in.labels, in.rows);
}

template <class Loss>
void both_passes(benchmark::State& state, const Loss& loss) {
  const Input in(state);
  const auto pass = [&] { return torch::autograd::grad({loss(in)}, {in.x, in.w}); };
  {
    const model::AllocationMeter meter(at::kCPU);
    pass();
    state.counters["extra MiB"] =
        static_cast<double>(meter.peak_total() -
                            static_cast<int64_t>(in.x.nbytes() + in.w.nbytes())) /
        (1 << 20);
  }
  for (auto _ : state) benchmark::DoNotOptimize(pass());
  report(state, 6.0 * static_cast<double>(in.rows * kVocabulary * kDim),
         3.0 * static_cast<double>(in.w.nbytes()));
}

void HeadLoss(benchmark::State& state) { both_passes(state, as_one); }
void HeadLossByOperators(benchmark::State& state) { both_passes(state, by_operators); }

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"rows", "bf16"})->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(2);
  for (const int64_t rows : {1024, 4096})
    for (const int64_t narrow : {0, 1}) bench->Args({rows, narrow});
}
BENCHMARK(HeadLoss)->Apply(sizes);
BENCHMARK(HeadLossByOperators)->Apply(sizes);

}  // namespace
}  // namespace titan::bench

BENCHMARK_MAIN();
