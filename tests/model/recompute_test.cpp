/// Activation checkpointing: the same numbers bit for bit, one forward more, and errors by name.
#include "model/recompute.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <functional>

#include "model/mixed_precision.h"
#include "support/expect_error.h"
#include "support/small_llama.h"

namespace titan::model {
namespace {

using test::Pass;
using test::small_llama;
using test::train_pass;

void expect_same(const Pass& a, const Pass& b) {
  EXPECT_EQ(a.loss, b.loss);
  EXPECT_TRUE(test::same_tensor(a.logits, b.logits));
  ASSERT_EQ(a.gradients.size(), b.gradients.size());
  for (const auto& [name, gradient] : a.gradients)
    EXPECT_TRUE(test::same_tensor(gradient, b.gradients.at(name))) << name;
}

/// Runs a function before a module, whose result takes the place of x.
class BeforeWrap final : public Wrap {
 public:
  using Function = std::function<at::Tensor(const CallContext&, const at::Tensor&)>;
  explicit BeforeWrap(Function function) : function_(std::move(function)) {}
  void before(Module&, const CallContext& context, Inputs& inputs) override {
    inputs[0] = function_(context, inputs[0]);
  }

 private:
  Function function_;
};

void wrap(Module& root, const std::string& name, BeforeWrap::Function function) {
  root.find(name)->add_wrap(std::make_unique<BeforeWrap>(std::move(function)));
}

struct Setting {
  const char* name;
  Recompute recompute;
  int64_t every;
};
const std::vector<Setting> kSettings = {{"full", Recompute::kAll, 1},
                                        {"every second", Recompute::kAll, 2},
                                        {"op", Recompute::kAllButOps, 1}};

TEST(RecomputeTest, MarksBlocksAsTorchtitanCountsThem) {
  const auto root = small_llama(5);
  EXPECT_EQ(mark_blocks_for_recompute(*root, Recompute::kAll, 2), 2);
  EXPECT_EQ(mark_blocks_for_recompute(*root, Recompute::kAll, 1), 5);
  EXPECT_EQ(mark_blocks_for_recompute(*root, Recompute::kAll, 6), 0);
  EXPECT_EQ(mark_blocks_for_recompute(*root, Recompute::kNothing, 1), 0);
}

TEST(RecomputeTest, GradientsAreTheSameBitForBit) {
  for (const bool mixed : {false, true}) {
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
      const auto root = small_llama(4, dtype);
      MixedPrecision bf16(at::kBFloat16);
      const CallContext context{.mixed_precision = mixed ? &bf16 : nullptr};
      const Pass plain = train_pass(*root, context, 2);
      for (const Setting& setting : kSettings) {
        SCOPED_TRACE(setting.name);
        mark_blocks_for_recompute(*root, setting.recompute, setting.every);
        expect_same(plain, train_pass(*root, context, 2));
        mark_blocks_for_recompute(*root, Recompute::kNothing, 1);
      }
    }
  }
}

TEST(RecomputeTest, FrozenParametersGetNoGradient) {
  const auto root = small_llama(2);
  for (const auto& named : named_parameters(*root))
    named.parameter->tensor.set_requires_grad(named.fqn.find("layers.1.attention.wq") == 0);
  const Pass plain = train_pass(*root);
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(setting.name);
    mark_blocks_for_recompute(*root, setting.recompute, setting.every);
    expect_same(plain, train_pass(*root));
  }
  EXPECT_TRUE(plain.gradients.at("layers.1.attention.wq.weight").defined());
}

TEST(RecomputeTest, RandomNumbersAreRepeatedAndTheGeneratorGoesOn) {
  const auto run = [](const Setting* setting) {
    const auto root = small_llama(3);
    for (const char* name :
         {"layers.0.feed_forward", "layers.1.attention", "layers.2.feed_forward"})
      wrap(*root, name, [](const CallContext&, const at::Tensor& x) {
        return at::dropout(x, 0.3, /*train=*/true);
      });
    if (setting) mark_blocks_for_recompute(*root, setting->recompute, setting->every);
    at::manual_seed(17);
    const Pass pass = train_pass(*root, {}, 2);
    return std::make_pair(pass, at::rand({4}));
  };
  const auto plain = run(nullptr);
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(setting.name);
    const auto repeated = run(&setting);
    expect_same(plain.first, repeated.first);
    EXPECT_TRUE(at::equal(plain.second, repeated.second));
  }
}

TEST(RecomputeTest, TheSecondForwardIsMarkedAndStateChangesOnce) {
  const auto root = small_llama(2);
  int64_t first = 0, second = 0, updates = 0;
  for (const char* name : {"layers.0.attention.wq", "layers.1.attention.wq"})
    wrap(*root, name, [&](const CallContext& context, const at::Tensor& x) {
      (context.recompute ? second : first) += 1;
      updates += context.training && !context.recompute;
      return x;
    });
  mark_blocks_for_recompute(*root, Recompute::kAll, 2);
  train_pass(*root, {}, 3);
  EXPECT_EQ(first, 6);
  EXPECT_EQ(second, 3);  // of the second block alone
  EXPECT_EQ(updates, 6);
}

TEST(RecomputeTest, NothingIsRepeatedWithoutGradients) {
  const auto root = small_llama(2);
  int64_t calls = 0;
  wrap(*root, "layers.0.attention", [&](const CallContext& context, const at::Tensor& x) {
    EXPECT_FALSE(context.recompute);
    EXPECT_FALSE(at::GradMode::is_enabled());
    ++calls;
    return x;
  });
  mark_blocks_for_recompute(*root, Recompute::kAllButOps, 1);
  const at::NoGradGuard no_grad;
  (*root)({.step = 1}, {test::small_batch(0).narrow(1, 0, 24)});
  EXPECT_EQ(calls, 1);
}

TEST(RecomputeTest, StateThatChangesInTheSecondForwardIsAnErrorThatNamesTheBlock) {
  const auto root = small_llama(2);
  double scale = 1;
  wrap(*root, "layers.1.attention",
       [&](const CallContext&, const at::Tensor& x) { return x * (scale *= 1.5); });
  mark_blocks_for_recompute(*root, Recompute::kAll, 1);
  test::expect_error(ExitStatus::kPlugin,
                     {"module 'layers.1' gives another result", "TITAN_CALL_RECOMPUTE",
                      "--activation_checkpoint.mode=none"},
                     [&] { train_pass(*root); });
}

TEST(RecomputeTest, OtherOperatorsInTheSecondForwardAreAnError) {
  for (const bool more : {false, true}) {
    const auto root = small_llama(1);
    wrap(*root, "layers.0.feed_forward", [&](const CallContext& context, const at::Tensor& x) {
      if (context.recompute != more) return x;
      const at::Tensor unit = at::eye(x.size(-1));
      return at::matmul(at::matmul(x, unit), unit);
    });
    mark_blocks_for_recompute(*root, Recompute::kAllButOps, 1);
    test::expect_error(ExitStatus::kPlugin, {"the second forward", "selective_ac_option=1"},
                       [&] { train_pass(*root); });
  }
}

TEST(RecomputeTest, ASecondDerivativeIsRefused) {
  const auto root = small_llama(1);
  mark_blocks_for_recompute(*root, Recompute::kAll, 1);
  const at::Tensor batch = test::small_batch(0);
  const at::Tensor logits = (*root)({.step = 2, .training = true}, {batch.narrow(1, 0, 24)});
  test::expect_error(ExitStatus::kInternal, {"no second derivative"}, [&] {
    logits.sum().backward({}, /*retain_graph=*/true, /*create_graph=*/true);
  });
}

}  // namespace
}  // namespace titan::model
