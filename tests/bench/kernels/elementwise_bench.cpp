/// Norm and gate, both passes: they are bound by memory.
#include <ATen/Functions.h>
#include <torch/csrc/autograd/autograd.h>

#include "bench/kernels/roofline.h"
#include "model/ops/rms_norm.h"
#include "model/ops/swiglu.h"

namespace titan::bench {
namespace {

at::Tensor input(benchmark::State& state, at::IntArrayRef shape) {
  return at::randn(shape).to(state.range(1) != 0 ? at::kBFloat16 : at::kFloat).requires_grad_();
}

/// Reads x and writes y; reads x and grad_y twice and writes grad_x.
void RmsNorm(benchmark::State& state) {
  const Instructions instructions(state);
  const at::Tensor x = input(state, {8192, 1024}), weight = input(state, {1024});
  const at::Tensor grad = at::randn(x.sizes()).to(x.scalar_type());
  for (auto _ : state)
    benchmark::DoNotOptimize(
        torch::autograd::grad({model::rms_norm(x, weight, 1e-5)}, {x, weight}, {grad}));
  report(state, 14.0 * static_cast<double>(x.numel()), 5.0 * static_cast<double>(x.nbytes()));
}
/// Reads gate and up and writes y; reads gate, up and grad_y and writes two gradients.
void Swiglu(benchmark::State& state) {
  const Instructions instructions(state);
  const at::Tensor gate = input(state, {8192, 1024}), up = input(state, {8192, 1024});
  const at::Tensor grad = at::randn(gate.sizes()).to(gate.scalar_type());
  for (auto _ : state)
    benchmark::DoNotOptimize(torch::autograd::grad({model::swiglu(gate, up)}, {gate, up}, {grad}));
  report(state, 60.0 * static_cast<double>(gate.numel()), 8.0 * static_cast<double>(gate.nbytes()));
}

void types(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"scalar", "bf16"})->Unit(benchmark::kMillisecond)->UseRealTime();
  for (const int64_t scalar : {0, 1})
    for (const int64_t narrow : {0, 1}) bench->Args({scalar, narrow});
}
BENCHMARK(RmsNorm)->Apply(types);
BENCHMARK(Swiglu)->Apply(types);

}  // namespace
}  // namespace titan::bench
