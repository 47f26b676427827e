/// Attention with its rotations, forward and both passes, beside torch's operators.
#include <ATen/Functions.h>
#include <torch/csrc/autograd/autograd.h>

#include "bench/kernels/roofline.h"
#include "model/ops/rope_attention.h"
#include "model/rope.h"

namespace titan::bench {
namespace {

struct Input {
  explicit Input(benchmark::State& state)
      : length(state.range(1)),
        heads(state.range(2)),
        dim(state.range(3)),
        type(state.range(4) != 0 ? at::kBFloat16 : at::kFloat),
        rope(model::rope_table(length, dim, 10000.0, {})),
        q(make()),
        k(make()),
        v(make()) {}
  at::Tensor make() const { return at::randn({2, length, heads, dim}).to(type).requires_grad_(); }
  /// Multiplications and additions of one pass over the visible half: 2 products forward, 5 back.
  double flops(double products) const {
    return products * 2.0 * static_cast<double>(2 * heads * length * (length + 1) / 2 * dim);
  }
  double bytes() const { return 4.0 * static_cast<double>(q.nbytes()); }
  int64_t length, heads, dim;
  at::ScalarType type;
  at::Tensor rope, q, k, v;
};

at::Tensor by_torch(const Input& in) {
  const auto heads = [](const at::Tensor& x) { return x.transpose(1, 2); };
  return at::scaled_dot_product_attention(heads(model::apply_rope(in.q, in.rope)),
                                          heads(model::apply_rope(in.k, in.rope)), heads(in.v), {},
                                          0.0, /*is_causal=*/true)
      .transpose(1, 2);
}

template <class Attend>
void both_passes(benchmark::State& state, const Attend& attend) {
  const Input in(state);
  const at::Tensor grad = at::randn(in.q.sizes()).to(in.type);
  for (auto _ : state) {
    const at::Tensor out = attend(in);
    benchmark::DoNotOptimize(torch::autograd::grad({out}, {in.q, in.k, in.v}, {grad}));
  }
  report(state, in.flops(7), 3 * in.bytes());
}

void AttentionForward(benchmark::State& state) {
  const Instructions instructions(state);
  const Input in(state);
  for (auto _ : state)
    benchmark::DoNotOptimize(model::rope_attention(in.q, in.k, in.v, in.rope).data_ptr());
  report(state, in.flops(2), in.bytes());
}
void AttentionBothPasses(benchmark::State& state) {
  const Instructions instructions(state);
  both_passes(state,
              [](const Input& in) { return model::rope_attention(in.q, in.k, in.v, in.rope); });
}
void AttentionBothPassesByTorch(benchmark::State& state) { both_passes(state, by_torch); }

/// scalar or not, length, heads, head_dim, bfloat16 or not
void shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"scalar", "length", "heads", "dim", "bf16"})->Unit(benchmark::kMillisecond);
  for (const int64_t narrow : {0, 1}) {
    bench->Args({0, 512, 16, 16, narrow});
    bench->Args({0, 1024, 8, 64, narrow});
    bench->Args({0, 2048, 4, 128, narrow});
  }
}
BENCHMARK(AttentionForward)->Apply(shapes)->Args({1, 512, 16, 16, 0})->UseRealTime();
BENCHMARK(AttentionBothPasses)->Apply(shapes)->Args({1, 512, 16, 16, 0})->UseRealTime();
BENCHMARK(AttentionBothPassesByTorch)->Apply(shapes)->UseRealTime();

}  // namespace
}  // namespace titan::bench
