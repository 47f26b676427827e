/// Layers: formulas, gradients, and that children are called through their slots.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/kinds.h"
#include "model/layers/attention.h"
#include "model/layers/block.h"
#include "model/layers/embedding.h"
#include "model/layers/feed_forward.h"
#include "model/layers/linear.h"
#include "model/layers/rms_norm.h"
#include "model/ops/rms_norm.h"
#include "support/expect_error.h"
#include "support/numeric_gradient.h"

namespace titan::model {
namespace {

using test::expect_error;
using test::expect_gradients_match;

at::Tensor wave(at::IntArrayRef shape, double phase, at::ScalarType dtype = at::kDouble) {
  const int64_t count = c10::multiply_integers(shape);
  return (at::arange(count, at::kDouble) * 0.37 + phase).sin().view(shape).to(dtype);
}

ModelArgs small_args() {
  return {
      .dim = 16, .n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .vocab_size = 32, .multiple_of = 8};
}

template <class M, class... A>
std::unique_ptr<M> ready(A&&... arguments) {
  auto module = std::make_unique<M>(std::forward<A>(arguments)...);
  module->assign_names("m");
  materialize(*module, at::kCPU, 11);
  return module;
}

TEST(RmsNorm, GradientsMatchFiniteDifferences) {
  expect_gradients_match(
      [](const std::vector<at::Tensor>& leaves) { return rms_norm(leaves[0], leaves[1], 1e-5); },
      {wave({2, 3, 5}, 0.2).requires_grad_(), (wave({5}, 1.0) + 1.5).requires_grad_()});
  // Tiny rows: eps is inside the root and part of the derivative.
  expect_gradients_match(
      [](const std::vector<at::Tensor>& leaves) { return rms_norm(leaves[0], leaves[1], 0.5); },
      {(wave({4}, 0.2) * 0.1).requires_grad_(), (wave({4}, 1.0) + 1.5).requires_grad_()});
}

TEST(RmsNorm, EqualsTheComposedOperator) {
  for (const auto dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    const at::Tensor x = wave({3, 7, 64}, 0.3, dtype) * 3, weight = wave({64}, 2.0, dtype) + 1;
    const at::Tensor mine = rms_norm(x, weight, 1e-5);
    const at::Tensor theirs = at::rms_norm(x, weight.sizes(), weight, 1e-5);
    ASSERT_EQ(mine.scalar_type(), dtype);
    // One unit in the last place of a value below 8.
    const double tolerance = dtype == at::kBFloat16 ? 0.04 : dtype == at::kFloat ? 2e-6 : 1e-14;
    EXPECT_LE((mine - theirs).abs().max().item<double>(), tolerance) << dtype;
  }
}

TEST(RmsNorm, Bfloat16GradientsAreThoseOfFloat32Rounded) {
  const at::Tensor x = (wave({8, 64}, 0.3) * 3).to(at::kBFloat16).requires_grad_();
  const at::Tensor weight = (wave({64}, 2.0) + 1).to(at::kBFloat16).requires_grad_();
  const at::Tensor wide_x = x.detach().to(at::kFloat).requires_grad_();
  const at::Tensor wide_weight = weight.detach().to(at::kFloat).requires_grad_();
  const at::Tensor grad = wave({8, 64}, 5.0, at::kBFloat16);
  rms_norm(x, weight, 1e-5).backward(grad);
  rms_norm(wide_x, wide_weight, 1e-5).backward(grad.to(at::kFloat));
  EXPECT_TRUE(at::equal(x.grad(), wide_x.grad().to(at::kBFloat16)));
  EXPECT_TRUE(at::equal(weight.grad(), wide_weight.grad().to(at::kBFloat16)));
}

TEST(RmsNorm, FrozenWeightAndSecondDerivative) {
  const at::Tensor x = wave({2, 4}, 0.1).requires_grad_();
  rms_norm(x, at::ones({4}, at::kDouble), 1e-5).sum().backward();
  EXPECT_TRUE(x.grad().defined());
  const at::Tensor y = rms_norm(x, at::ones({4}, at::kDouble), 1e-5).sum();
  EXPECT_ANY_THROW(y.backward({}, /*retain_graph=*/true, /*create_graph=*/true));
}

TEST(Rope, AnglesOfTheLongModel) {
  const at::Tensor table = rope_table(2, 128, 500000.0, {});
  const at::Tensor angles = at::atan2(table.select(2, 1), table.select(2, 0))[1];
  const std::vector<std::pair<int64_t, double>> expected = {
      {0, 1.0},          {1, 0.8146172166}, {16, 0.0376060307}, {28, 0.0032114461},
      {32, 0.000524846}, {40, 3.4281e-5},   {48, 6.6479e-6},    {63, 3.069e-7}};
  for (const auto& [index, angle] : expected)
    EXPECT_NEAR(angles[index].item<double>(), angle, 2e-4 * angle) << index;
  // Without scaling: theta^(-2 i / head_dim).
  const at::Tensor plain = rope_table(2, 128, 500000.0, {.factor = 1.0});
  for (const int64_t index : {1, 29, 32, 63})
    EXPECT_NEAR(at::atan2(plain[1][index][1], plain[1][index][0]).item<double>(),
                std::pow(500000.0, -index / 64.0), 2e-6 * std::pow(500000.0, -index / 64.0));
}

TEST(Rope, TurnsInterleavedPairs) {
  const at::Tensor x = wave({1, 3, 2, 8}, 0.0, at::kFloat);
  const at::Tensor rope = rope_table(3, 8, 500000.0, {});
  const at::Tensor y = apply_rope(x, rope);
  EXPECT_TRUE(at::equal(y[0][0], x[0][0])) << "position 0 is not turned";
  for (int64_t pair = 0; pair < 4; ++pair) {
    const double c = rope[2][pair][0].item<double>(), s = rope[2][pair][1].item<double>();
    const double a = x[0][2][1][2 * pair].item<double>(),
                 b = x[0][2][1][2 * pair + 1].item<double>();
    EXPECT_NEAR(y[0][2][1][2 * pair].item<double>(), a * c - b * s, 1e-6);
    EXPECT_NEAR(y[0][2][1][2 * pair + 1].item<double>(), a * s + b * c, 1e-6);
  }
  EXPECT_EQ(apply_rope(x.to(at::kBFloat16), rope).scalar_type(), at::kBFloat16);
  // float64 is turned in float64: what float32 cannot hold comes through.
  const at::Tensor fine = x.to(at::kDouble) + 1e-12, turned = apply_rope(fine, rope);
  EXPECT_EQ(turned.scalar_type(), at::kDouble);
  EXPECT_NEAR((turned - apply_rope(x.to(at::kDouble), rope)).select(1, 0).mean().item<double>(),
              1e-12, 1e-14);
}

TEST(Rope, ScalingsDivideFrequencies) {
  const auto angles = [](RopeScaling scaling) {
    const at::Tensor table =
        rope_table(2, 64, 10000.0, scaling)[1];  // position 1: the frequencies themselves
    return at::atan2(table.select(1, 1), table.select(1, 0));
  };
  const at::Tensor plain = angles({.kind = RopeScaling::Kind::kNone});
  EXPECT_NEAR(plain[16].item<double>(), 0.01, 1e-8);
  EXPECT_TRUE(at::allclose(angles({.kind = RopeScaling::Kind::kLinear, .factor = 4.0}), plain / 4,
                           1e-6, 0.0));
  EXPECT_TRUE(at::equal(angles({.kind = RopeScaling::Kind::kNone, .factor = 4.0}), plain));
  EXPECT_TRUE(
      at::allclose(angles({.kind = RopeScaling::Kind::kLlama3, .factor = 1.0}), plain, 1e-6, 0.0));
  const at::Tensor banded = angles({.kind = RopeScaling::Kind::kLlama3,
                                    .factor = 4.0,
                                    .original_max_position_embeddings = 1024});
  EXPECT_EQ(banded[0].item<float>(), plain[0].item<float>()) << "short wavelengths stay";
  EXPECT_NEAR(banded[31].item<double>(), plain[31].item<double>() / 4, 1e-9)
      << "long ones are slowed";
}

TEST(Attention, LooksBackOnly) {
  const auto attention = ready<Attention>(small_args(), 0, 0.02, at::kFloat);
  const at::Tensor rope = rope_table(6, 4, 500000.0, {});
  const at::Tensor x = wave({2, 6, 16}, 0.0, at::kFloat) * 10;
  at::Tensor changed = x.clone();
  changed.narrow(1, 4, 2).add_(1.0);
  const at::Tensor before = (*attention)({}, {x, rope}), after = (*attention)({}, {changed, rope});
  EXPECT_TRUE(at::allclose(before.narrow(1, 0, 4), after.narrow(1, 0, 4), 0.0, 1e-7));
  EXPECT_FALSE(at::allclose(before.narrow(1, 4, 2), after.narrow(1, 4, 2), 0.0, 1e-4));
}

TEST(Attention, EqualsTheFormulaWithGroupedHeads) {
  const ModelArgs args = small_args();
  const auto attention = ready<Attention>(args, 0, 0.02, at::kDouble);
  const at::Tensor rope = rope_table(5, 4, 500000.0, {});
  const at::Tensor x = wave({2, 5, 16}, 0.0) * 30;
  const auto project = [&](const char* name, int64_t heads) {
    return at::linear(x, attention->find(name)->parameter("weight").tensor).view({2, 5, heads, 4});
  };
  const at::Tensor q = apply_rope(project("wq", 4), rope), k = apply_rope(project("wk", 2), rope);
  const at::Tensor v = project("wv", 2);
  const at::Tensor mask = at::ones({5, 5}, at::kBool).tril().logical_not();
  std::vector<at::Tensor> heads;
  for (int64_t head = 0; head < 4; ++head) {
    const at::Tensor scores =
        q.select(2, head).matmul(k.select(2, head / 2).transpose(1, 2)) / std::sqrt(4.0);
    heads.push_back(scores.masked_fill(mask, -INFINITY).softmax(-1).matmul(v.select(2, head / 2)));
  }
  const at::Tensor expected =
      at::linear(at::cat(heads, -1), attention->find("wo")->parameter("weight").tensor);
  EXPECT_TRUE(at::allclose((*attention)({}, {x, rope}), expected, 1e-9, 1e-12));
}

TEST(Attention, NormalisesHeadsBeforeTheyTurn) {
  ModelArgs args = small_args();
  args.qk_norm = true;
  args.given_head_dim = 6;  // wider together than dim
  const auto attention = ready<Attention>(args, 0, 0.02, at::kDouble);
  EXPECT_EQ(attention->kind(), "qk_norm_attention")
      << "code for plain attention must not take its place";
  for (const char* name : {"q_norm", "k_norm"}) {
    const at::NoGradGuard no_grad;
    attention->find(name)->parameter("weight").tensor.copy_(wave({6}, name[0]) + 1.5);
    EXPECT_EQ(attention->find(name)->kind(), "rms_norm");
  }
  const at::Tensor rope = rope_table(5, 6, 500000.0, {});
  const at::Tensor x = wave({2, 5, 16}, 0.0) * 30;
  const auto project = [&](const char* name, int64_t heads) {
    return at::linear(x, attention->find(name)->parameter("weight").tensor).view({2, 5, heads, 6});
  };
  const auto normal = [&](const at::Tensor& y, const char* name) {
    return y * (y * y).mean(-1, true).add(args.norm_eps).rsqrt() *
           attention->find(name)->parameter("weight").tensor;
  };
  const at::Tensor q = apply_rope(normal(project("wq", 4), "q_norm"), rope);
  const at::Tensor k = apply_rope(normal(project("wk", 2), "k_norm"), rope);
  const at::Tensor v = project("wv", 2);
  const at::Tensor mask = at::ones({5, 5}, at::kBool).tril().logical_not();
  std::vector<at::Tensor> heads;
  for (int64_t head = 0; head < 4; ++head) {
    const at::Tensor scores =
        q.select(2, head).matmul(k.select(2, head / 2).transpose(1, 2)) / std::sqrt(6.0);
    heads.push_back(scores.masked_fill(mask, -INFINITY).softmax(-1).matmul(v.select(2, head / 2)));
  }
  const at::Tensor expected =
      at::linear(at::cat(heads, -1), attention->find("wo")->parameter("weight").tensor);
  EXPECT_TRUE(at::allclose((*attention)({}, {x, rope}), expected, 1e-9, 1e-12));
}

TEST(Attention, RefusesInputsThatItDoesNotUse) {
  const auto block = ready<Block>(small_args(), 0, at::kFloat);
  const at::Tensor x = wave({1, 3, 16}, 0.0, at::kFloat), rope = rope_table(3, 4, 500000.0, {});
  const at::Tensor ids = at::zeros({1, 3}, at::kLong);
  expect_error(ExitStatus::kUsage, {"positions", "m.attention"}, [&] {
    (*block)({}, {x, rope, ids});
  });
  expect_error(ExitStatus::kUsage, {"document ids", "m.attention"}, [&] {
    (*block)({}, {x, rope, at::Tensor(), ids});
  });
  EXPECT_TRUE((*block)({}, {x, rope, at::Tensor(), at::Tensor()}).defined());
}

TEST(FeedForward, IsGatedBySilu) {
  const auto layer = ready<FeedForward>(small_args(), 0, 0.02, at::kDouble);
  const at::Tensor x = wave({3, 16}, 0.0) * 40;
  const auto weight = [&](const char* name) {
    return layer->find(name)->parameter("weight").tensor;
  };
  const at::Tensor gate = at::linear(x, weight("w1"));
  const at::Tensor expected =
      at::linear(gate * at::sigmoid(gate) * at::linear(x, weight("w3")), weight("w2"));
  EXPECT_TRUE(at::allclose((*layer)({}, {x}), expected, 1e-10, 1e-14));
}

TEST(Block, EveryGradientMatchesFiniteDifferences) {
  const auto block = ready<Block>(small_args(), 0, at::kDouble);
  // RoPE rounds through float32, so positions are left at 0 here; its own test covers the turning.
  const at::Tensor rope = at::tensor({1.0f, 0.0f}).expand({3, 2, 2}).contiguous();
  std::vector<at::Tensor> leaves = {wave({1, 3, 16}, 0.0).requires_grad_()};
  for (const auto& named : named_parameters(*block)) {
    const at::NoGradGuard no_grad;
    if (named.parameter->tensor.dim() == 2) named.parameter->tensor.mul_(10.0);
    leaves.push_back(named.parameter->tensor);
  }
  ASSERT_EQ(leaves.size(), 10u);
  expect_gradients_match(
      [&](const std::vector<at::Tensor>& all) {
        return (*block)({}, {all[0], rope});
      },
      leaves,
      /*tolerance=*/2e-3);  // q and k pass through float32
}

/// Replaces any module by a call that counts.
class Counted : public Replacement {
 public:
  explicit Counted(int& calls, int64_t out) : calls_(calls), out_(out) {}
  at::Tensor forward(Module&, const CallContext&, const Inputs& inputs) override {
    ++calls_;
    auto shape = inputs[0].sizes().vec();
    shape.back() = out_;
    return at::zeros(shape, inputs[0].options().dtype(at::kFloat));
  }

 private:
  int& calls_;
  int64_t out_;
};

TEST(Layers, EveryChildIsCalledThroughItsSlot) {
  const at::Tensor x = wave({1, 3, 16}, 0.0, at::kFloat), rope = rope_table(3, 4, 500000.0, {});
  const std::vector<std::pair<std::string, int64_t>> names = {
      {"attention", 16},       {"attention.wq", 16},    {"attention.wk", 8},
      {"attention.wv", 8},     {"attention.wo", 16},    {"feed_forward", 16},
      {"feed_forward.w1", 48}, {"feed_forward.w2", 16}, {"feed_forward.w3", 48},
      {"attention_norm", 16},  {"ffn_norm", 16},        {"attention.q_norm", 4},
      {"attention.k_norm", 4}};
  ModelArgs args = small_args();
  args.qk_norm = true;
  for (const auto& [name, out] : names) {
    const auto block = ready<Block>(args, 0, at::kFloat);
    int calls = 0;
    block->find(name)->set_replacement(std::make_unique<Counted>(calls, out));
    EXPECT_TRUE((*block)({}, {x, rope}).defined());
    EXPECT_EQ(calls, 1) << name;
  }
}

TEST(Layers, KindsAndAttributesAreThoseOfTheContract) {
  const ModelArgs args = small_args();
  const auto block = ready<Block>(args, 3, at::kFloat);
  using Attributes = std::map<std::string, double>;
  EXPECT_EQ(block->attributes(), (Attributes{{"dim", 16}, {"layer", 3}}));
  EXPECT_EQ(
      block->find("attention")->attributes(),
      (Attributes{{"dim", 16}, {"n_heads", 4}, {"n_kv_heads", 2}, {"head_dim", 4}, {"layer", 3}}));
  EXPECT_EQ(block->find("attention.wk")->attributes(),
            (Attributes{{"in_features", 16}, {"out_features", 8}}));
  EXPECT_EQ(block->find("feed_forward")->attributes(),
            (Attributes{{"dim", 16}, {"hidden_dim", 48}, {"layer", 3}}));
  EXPECT_EQ(block->find("ffn_norm")->attributes(), (Attributes{{"dim", 16}, {"eps", 1e-5}}));
  EXPECT_EQ(ready<Embedding>(8, 4, at::kFloat, InitRule::normal(0, 1))->attributes(),
            (Attributes{{"num_embeddings", 8}, {"dim", 4}}));
  visit_modules(*block, [](Module& module) {
    EXPECT_NE(find_kind(module.kind()), nullptr) << module.kind();
  });
  EXPECT_NE(find_kind("qk_norm_attention"), nullptr);
  EXPECT_EQ(find_kind("lineer"), nullptr);
  EXPECT_TRUE(find_kind("attention")->inputs[2].optional);
}

}  // namespace
}  // namespace titan::model
