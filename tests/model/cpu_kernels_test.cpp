/// The CPU kernels in every instruction set of this machine, against the formulas in float64.
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "base/error.h"
#include "model/loss.h"
#include "model/ops/linear_cross_entropy.h"
#include "model/ops/matmul.h"
#include "model/ops/rms_norm.h"
#include "model/ops/rope_attention.h"
#include "model/ops/swiglu.h"
#include "model/rope.h"
#include "support/live_bytes.h"

namespace titan::model {
namespace {

using Tensors = std::vector<at::Tensor>;
using Function = std::function<at::Tensor(const Tensors&)>;

void use_instructions(int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

/// One instruction set; the last is plain C++, the oracle of the others.
class CpuKernelsTest : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { use_instructions(GetParam()); }
  void TearDown() override { use_instructions(0); }
};

std::vector<int64_t> instruction_sets() {
  std::vector<int64_t> sets;
  for (const int64_t one : {int64_t{HWY_AVX3}, int64_t{HWY_AVX2}, int64_t{HWY_SCALAR}})
    if ((hwy::SupportedTargets() & one) != 0 || one == HWY_SCALAR) sets.push_back(one);
  return sets;
}

INSTANTIATE_TEST_SUITE_P(Instructions, CpuKernelsTest, ::testing::ValuesIn(instruction_sets()),
                         [](const auto& info) { return std::string(hwy::TargetName(info.param)); });

at::Tensor noise(at::IntArrayRef shape, double size = 1.0) { return at::randn(shape) * size; }

/// Value and gradients of sum(function(inputs) * weights), the weights being fixed noise.
Tensors value_and_gradients(const Function& function, const Tensors& inputs) {
  Tensors leaves;
  for (const at::Tensor& input : inputs)
    leaves.push_back(input.is_floating_point() ? input.detach().clone().requires_grad_() : input);
  const at::Tensor value = function(leaves);
  at::manual_seed(99);
  // Rounded, so that they are the same numbers in every type.
  const at::Tensor weights = at::randn(value.sizes()).to(at::kBFloat16).to(value.scalar_type());
  (value * weights).sum().backward();
  Tensors result{value.detach()};
  for (const at::Tensor& leaf : leaves)
    if (leaf.is_floating_point()) result.push_back(leaf.grad());
  return result;
}

/// `ours` in the type of `inputs` against `formula` in float64: ||a - b|| <= tolerance ||b||.
void expect_close(const Function& ours, const Function& formula, const Tensors& inputs,
                  double tolerance) {
  Tensors wide;
  for (const at::Tensor& input : inputs)
    wide.push_back(input.is_floating_point() ? input.to(at::kDouble) : input);
  const Tensors found = value_and_gradients(ours, inputs);
  const Tensors expected = value_and_gradients(formula, wide);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].sizes(), expected[i].sizes()) << i;
    const double error = (found[i].to(at::kDouble) - expected[i]).norm().item<double>();
    EXPECT_LE(error, tolerance * expected[i].norm().item<double>() + 1e-30) << "result " << i;
  }
}

double tolerance_of(at::ScalarType type) { return type == at::kFloat ? 2e-6 : 6e-3; }

TEST_P(CpuKernelsTest, RmsNorm) {
  at::manual_seed(1);
  const Function formula = [](const Tensors& in) {
    return in[0] * (in[0].square().mean(-1, true) + 1e-5).rsqrt() * in[1];
  };
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16})
    for (const int64_t dim : {2, 3, 8, 37, 256})
      for (const int64_t rows : {1, 2, 33, 200}) {
        SCOPED_TRACE(testing::Message() << type << " " << rows << " x " << dim);
        expect_close([](const Tensors& in) { return rms_norm(in[0], in[1], 1e-5); }, formula,
                     {noise({rows, dim}, 3).to(type), noise({dim}).to(type)}, tolerance_of(type));
      }
}

TEST_P(CpuKernelsTest, Swiglu) {
  at::manual_seed(2);
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16})
    for (const int64_t n : {1, 7, 8, 29, 20000})
      expect_close([](const Tensors& in) { return swiglu(in[0], in[1]); },
                   [](const Tensors& in) { return at::silu(in[0]) * in[1]; },
                   {noise({n}, 8).to(type), noise({n}).to(type)}, tolerance_of(type));
  // Far out the gate is open or shut, and nothing overflows.
  const at::Tensor far = at::tensor({-200.0F, -90.0F, 90.0F, 200.0F, -87.5F, 87.5F, 0.0F, -0.0F});
  EXPECT_TRUE(at::allclose(swiglu(far, at::ones({8})), at::silu(far), 1e-6, 1e-30));
}

at::Tensor attention_formula(const Tensors& in, const at::Tensor& rope) {
  const int64_t length = in[0].size(1), group = in[0].size(2) / in[1].size(2);
  const auto heads = [&](const at::Tensor& x, int64_t repeats) {
    return x.repeat_interleave(repeats, 2).transpose(1, 2);
  };
  const at::Tensor q = heads(apply_rope(in[0], rope), 1);
  const at::Tensor k = heads(apply_rope(in[1], rope), group), v = heads(in[2], group);
  const at::Tensor hidden = at::ones({length, length}, at::kBool).tril().logical_not();
  const at::Tensor scores = q.matmul(k.transpose(2, 3)) / std::sqrt(static_cast<double>(q.size(3)));
  return scores.masked_fill(hidden, -INFINITY).softmax(-1).matmul(v).transpose(1, 2);
}

TEST_P(CpuKernelsTest, Attention) {
  at::manual_seed(3);
  struct Case {
    int64_t batch, length, heads, kv_heads, dim;
  };
  for (const Case& one : std::vector<Case>{{1, 1, 1, 1, 2},
                                           {2, 5, 4, 2, 6},
                                           {1, 47, 2, 1, 16},
                                           {1, 48, 2, 2, 8},
                                           {1, 49, 1, 1, 4},
                                           {1, 95, 3, 1, 10},
                                           {1, 96, 1, 1, 64},
                                           {1, 97, 2, 1, 80},
                                           {2, 200, 4, 2, 16},
                                           {1, 301, 1, 1, 128}})
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      SCOPED_TRACE(testing::Message() << type << " length " << one.length << " dim " << one.dim);
      const at::Tensor rope = rope_table(one.length, one.dim, 10000.0, {});
      const auto make = [&](int64_t heads) {
        return noise({one.batch, one.length, heads, one.dim}, 1.5).to(type);
      };
      expect_close([&](const Tensors& in) { return rope_attention(in[0], in[1], in[2], rope); },
                   [&](const Tensors& in) { return attention_formula(in, rope); },
                   {make(one.heads), make(one.kv_heads), make(one.kv_heads)},
                   type == at::kFloat ? 5e-6 : 8e-3);
    }
}

/// Heads that lie in one wider buffer, as a fused projection makes them.
TEST_P(CpuKernelsTest, AttentionReadsStridedHeads) {
  at::manual_seed(4);
  const at::Tensor rope = rope_table(60, 8, 10000.0, {});
  const at::Tensor fused = noise({2, 60, 4 + 2 + 2, 8});
  const at::Tensor q = fused.narrow(2, 0, 4), k = fused.narrow(2, 4, 2), v = fused.narrow(2, 6, 2);
  EXPECT_TRUE(at::equal(rope_attention(q, k, v, rope),
                        rope_attention(q.contiguous(), k.contiguous(), v.contiguous(), rope)));
  const at::Tensor apart = noise({2, 60, 8, 4}).transpose(2, 3);  // heads not one behind another
  EXPECT_TRUE(
      at::equal(rope_attention(apart, apart, apart, rope),
                rope_attention(apart.contiguous(), apart.contiguous(), apart.contiguous(), rope)));
}

/// Scores far from zero: the running maximum keeps exponentials in range.
TEST_P(CpuKernelsTest, AttentionOfLargeScores) {
  at::manual_seed(5);
  const at::Tensor rope = rope_table(150, 16, 10000.0, {});
  const Tensors in{noise({1, 150, 1, 16}, 40), noise({1, 150, 1, 16}, 40), noise({1, 150, 1, 16})};
  const at::Tensor found = rope_attention(in[0], in[1], in[2], rope);
  const at::Tensor expected = attention_formula(
      {in[0].to(at::kDouble), in[1].to(at::kDouble), in[2].to(at::kDouble)}, rope);
  EXPECT_LT((found - expected).norm().item<double>(), 1e-3 * expected.norm().item<double>());
}

at::Tensor head_loss(const Tensors& in, int64_t valid) {
  return linear_cross_entropy(in[0], in[1], in[0], in[1], in[2], valid);
}

TEST_P(CpuKernelsTest, LinearCrossEntropy) {
  at::manual_seed(6);
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16})
    for (const int64_t vocabulary : {2, 13, 64, 1000}) {
      SCOPED_TRACE(testing::Message() << type << " " << vocabulary);
      at::Tensor labels = at::randint(vocabulary, {37}, at::kLong);
      labels[3] = kIgnoreIndex;
      labels[36] = kIgnoreIndex;
      expect_close(
          [](const Tensors& in) { return head_loss(in, 35); },
          [](const Tensors& in) { return cross_entropy(in[0].matmul(in[1].t()), in[2], 35); },
          {noise({37, 24}).to(type), noise({vocabulary, 24}).to(type), labels},
          type == at::kFloat ? 2e-6 : 1e-2);
    }
}

TEST_P(CpuKernelsTest, WhatIsNotANumberStaysVisible) {
  at::manual_seed(7);
  const auto broken = [](at::IntArrayRef shape) {
    at::Tensor x = at::randn(shape);
    x.view(-1)[x.numel() / 2] = std::numeric_limits<float>::quiet_NaN();
    return x;
  };
  const auto nan_in = [](const at::Tensor& x) { return x.isnan().any().item<bool>(); };
  EXPECT_TRUE(nan_in(rms_norm(broken({3, 16}), at::ones({16}), 1e-5)));
  EXPECT_TRUE(nan_in(swiglu(broken({24}), at::ones({24}))));
  EXPECT_TRUE(nan_in(swiglu(at::ones({24}), broken({24}))));
  const at::Tensor rope = rope_table(40, 16, 10000.0, {}), sound = noise({1, 40, 1, 16});
  EXPECT_TRUE(nan_in(rope_attention(broken({1, 40, 1, 16}), sound, sound, rope)));
  EXPECT_TRUE(nan_in(rope_attention(sound, broken({1, 40, 1, 16}), sound, rope)));
  EXPECT_TRUE(nan_in(rope_attention(sound, sound, broken({1, 40, 1, 16}), rope)));
  const at::Tensor labels = at::zeros({5}, at::kLong);
  EXPECT_TRUE(nan_in(head_loss({broken({5, 8}), noise({20, 8}), labels}, 5)));
  EXPECT_TRUE(nan_in(head_loss({noise({5, 8}), broken({20, 8}), labels}, 5)));
  const at::Tensor infinite = at::full({5, 8}, std::numeric_limits<float>::infinity());
  EXPECT_FALSE(at::isfinite(head_loss({infinite, noise({20, 8}), labels}, 5)).item<bool>());
}

TEST_P(CpuKernelsTest, TheNumberOfThreadsChangesNothing) {
  at::manual_seed(8);
  const at::Tensor rope = rope_table(130, 16, 10000.0, {});
  const Tensors qkv{noise({1, 130, 4, 16}), noise({1, 130, 2, 16}), noise({1, 130, 2, 16})};
  const Tensors rows{noise({130, 40}), noise({40})};
  const Tensors gates{noise({30000}), noise({30000})};
  const auto all = [&] {
    Tensors found;
    const auto add = [&](const Function& function, const Tensors& inputs) {
      for (const at::Tensor& one : value_and_gradients(function, inputs)) found.push_back(one);
    };
    add([&](const Tensors& in) { return rope_attention(in[0], in[1], in[2], rope); }, qkv);
    add([](const Tensors& in) { return rms_norm(in[0], in[1], 1e-5); }, rows);
    add([](const Tensors& in) { return swiglu(in[0], in[1]); }, gates);
    return found;
  };
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const Tensors alone = all();
  at::set_num_threads(3);
  const Tensors together = all();
  at::set_num_threads(before);
  for (size_t i = 0; i < alone.size(); ++i) EXPECT_TRUE(at::equal(alone[i], together[i])) << i;
}

TEST(LinearCrossEntropyTest, MoreRowsThanAreTakenAtATime) {
  at::manual_seed(9);
  const int64_t rows = 300, vocabulary = 140000;  // 128 rows at a time
  const Tensors in{noise({rows, 4}), noise({vocabulary, 4}),
                   at::randint(vocabulary, {rows}, at::kLong)};
  test::live_bytes();
  const int64_t before = test::live_bytes();
  const Tensors found =
      value_and_gradients([&](const Tensors& x) { return head_loss(x, rows); }, in);
  EXPECT_LT(test::live_bytes() - before, vocabulary * 4 * 8) << "logits are still alive";
  const Tensors expected = value_and_gradients(
      [&](const Tensors& x) { return cross_entropy(x[0].matmul(x[1].t()), x[2], rows); }, in);
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_LT((found[i] - expected[i]).norm().item<double>(),
              2e-5 * expected[i].norm().item<double>())
        << i;
}

TEST(LinearCrossEntropyTest, WithoutGradientsItGivesTheLossAlone) {
  at::manual_seed(10);
  const Tensors in{noise({9, 6}), noise({31, 6}), at::randint(31, {9}, at::kLong)};
  const at::NoGradGuard no_grad;
  EXPECT_NEAR(head_loss(in, 9).item<double>(),
              cross_entropy(in[0].matmul(in[1].t()), in[2], 9).item<double>(), 1e-5);
}

TEST(LinearCrossEntropyTest, ALabelBeyondTheVocabularyIsAnError) {
  const Tensors in{at::ones({2, 4}), at::ones({5, 4}), at::full({2}, 5, at::kLong)};
  EXPECT_THROW(head_loss(in, 2), Error);
}

TEST(LinearCrossEntropyTest, ItsBackwardRunsOnce) {
  const at::Tensor x = at::ones({2, 4}).requires_grad_(), w = at::ones({5, 4});
  const at::Tensor loss = head_loss({x, w, at::zeros({2}, at::kLong)}, 2);
  loss.backward({}, /*retain_graph=*/true);
  EXPECT_THROW(loss.backward(), Error);
}

TEST(MatmulTest, NarrowOperandsAreAddedUpWide) {
  at::manual_seed(11);
  const at::Tensor a = noise({17, 300}).to(at::kBFloat16), b = noise({300, 9}).to(at::kBFloat16);
  const at::Tensor exact = at::mm(a.to(at::kDouble), b.to(at::kDouble));
  const at::Tensor left = a.t().contiguous().t();  // a transposed view of the same values
  for (const at::Tensor& form : {a, left}) {
    const at::Tensor wide = matmul(form, b, at::kFloat);
    EXPECT_EQ(wide.scalar_type(), at::kFloat);
    EXPECT_LT((wide - exact).abs().max().item<double>(), 1e-4);
    EXPECT_TRUE(at::allclose(matmul(form, b, at::kBFloat16).to(at::kDouble), exact, 4e-3, 1e-3));
    at::Tensor sum = at::ones({17, 9});
    matmul_into(sum, form, b, true);
    EXPECT_LT((sum - exact - 1.0).abs().max().item<double>(), 1e-4);
    matmul_into(sum, form, b, false);
    EXPECT_LT((sum - exact).abs().max().item<double>(), 1e-4);
  }
}

}  // namespace
}  // namespace titan::model
