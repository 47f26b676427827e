/// The tape of kept results: what it sees, when it is there at all, and that it mixes with other
/// ways of running operators.
#include "model/op_tape.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "model/recompute.h"
#include "support/expect_error.h"
#include "support/small_llama.h"

namespace titan::model {
namespace {

bool is_on() {
  return c10::impl::tls_local_dispatch_key_set().included_.has(c10::DispatchKey::Fake);
}

TEST(OpTapeTest, KeepsEverySecondProductAttentionAndAmax) {
  OpTape tape;
  const at::Tensor a = at::rand({4, 4}), heads = at::rand({1, 2, 8, 4});
  {
    const OpTape::Scope scope(tape, OpTape::Mode::kRecord);
    at::mm(a, a);  // kept
    at::mm(a, a);
    at::linear(a, a);  // is a product inside: kept
    at::relu(a);
    at::max(a);  // kept
    at::amax(a, {1});
    at::scaled_dot_product_attention(heads, heads, heads);  // kept
  }
  EXPECT_EQ(tape.size(), 4u);
  at::mm(a, a);
  EXPECT_EQ(tape.size(), 4u);
}

TEST(OpTapeTest, IsOnlyOnInsideAScopeOfThisThread) {
  EXPECT_FALSE(is_on());
  OpTape tape;
  try {
    const OpTape::Scope scope(tape, OpTape::Mode::kRecord);
    EXPECT_TRUE(is_on());
    bool elsewhere = true;
    std::thread([&] {
      elsewhere = is_on();
      at::mm(at::ones({2, 2}), at::ones({2, 2}));
    }).join();
    EXPECT_FALSE(elsewhere);
    throw std::runtime_error("leaves the scope");
  } catch (const std::runtime_error&) {
  }
  EXPECT_FALSE(is_on());
  EXPECT_EQ(tape.size(), 0u);
}

TEST(OpTapeTest, ReplayedResultsAreRecordedInTheGraph) {
  const at::Tensor a = at::rand({3, 4}), b = at::rand({4, 2}).requires_grad_();
  OpTape tape;
  at::Tensor first;
  {
    const OpTape::Scope scope(tape, OpTape::Mode::kRecord);
    const at::NoGradGuard no_grad;
    first = at::mm(a, b);
  }
  EXPECT_FALSE(first.requires_grad());
  at::Tensor second;
  {
    const OpTape::Scope scope(tape, OpTape::Mode::kReplay);
    second = at::mm(a, b);
  }
  EXPECT_TRUE(second.is_alias_of(first));  // not computed again
  second.sum().backward();
  EXPECT_TRUE(at::allclose(b.grad(), a.sum(0).unsqueeze(1).expand({4, 2})));
}

TEST(OpTapeTest, AnInPlaceChangeOfAKeptResultIsAnError) {
  const at::Tensor a = at::rand({3, 3});
  OpTape tape;
  {
    const OpTape::Scope scope(tape, OpTape::Mode::kRecord);
    at::mm(a, a).add_(1);
  }
  const OpTape::Scope scope(tape, OpTape::Mode::kReplay);
  test::expect_error(ExitStatus::kPlugin, {"changed in place", "selective_ac_option=1"},
                     [&] { at::mm(a, a); });
}

TEST(OpTapeTest, InPlaceOperatorsViewsAndOutArgumentsPassThrough) {
  OpTape tape;
  const OpTape::Scope scope(tape, OpTape::Mode::kRecord);
  at::Tensor x = at::zeros({2, 3});
  at::Tensor& same = x.add_(1);
  EXPECT_TRUE(same.is_same(x));
  x.select(0, 1).mul_(5);
  EXPECT_EQ(x.sum().item<double>(), 18.0);
  at::Tensor out = at::empty({2, 2});
  at::mm_out(out, x, x.t());
  EXPECT_EQ(out.sum().item<double>(), 3 + 15 + 15 + 75);
}

/// Not a whole block: without Python, torch has no meta kernels for the parts of attention.
TEST(OpTapeTest, WorksOnTheMetaDevice) {
  Transformer root(test::small_llama_args(1), at::kFloat);
  Module& layer = *root.find("layers.0.feed_forward");
  layer.set_recompute(Recompute::kAllButOps);
  const auto meta = at::TensorOptions().device(at::kMeta).dtype(at::kFloat);
  const at::Tensor x = at::empty({2, 8, test::kSmallDim}, meta).requires_grad_();
  layer({.step = 2, .training = true}, {x}).sum().backward();
  EXPECT_TRUE(x.grad().is_meta());
  for (const auto& named : named_parameters(layer)) {
    ASSERT_TRUE(named.parameter->tensor.grad().defined()) << named.fqn;
    EXPECT_TRUE(named.parameter->tensor.grad().is_meta());
  }
}

}  // namespace
}  // namespace titan::model
