/// Initial values: reproducible, independent of everything else, of the right distribution.
#include "model/init.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "model/layers/linear.h"
#include "model/module.h"
#include "model/transformer.h"
#include "support/expect_error.h"

namespace titan::model {
namespace {

using test::expect_error;

ModelArgs tiny(int64_t layers = 2) {
  return {.dim = 32,
          .n_layers = layers,
          .n_heads = 4,
          .n_kv_heads = 2,
          .vocab_size = 64,
          .multiple_of = 16};
}

std::map<std::string, at::Tensor> values_of(Module& root) {
  std::map<std::string, at::Tensor> result;
  for (const auto& named : named_parameters(root)) result[named.fqn] = named.parameter->tensor;
  return result;
}

TEST(Materialize, HandlesStayTheSameAndTrain) {
  Transformer model(tiny(), at::kFloat);
  const at::Tensor held = model.find("layers.0.attention.wq")->parameter("weight").tensor;
  ASSERT_TRUE(held.is_meta());
  materialize(model, at::kCPU, 7);
  EXPECT_TRUE(held.is_cpu());
  EXPECT_TRUE(held.requires_grad());
  EXPECT_TRUE(held.is_leaf());
  EXPECT_TRUE(held.is_same(model.find("layers.0.attention.wq")->parameter("weight").tensor));
  model({}, {at::zeros({1, 4}, at::kLong)}).sum().backward();
  EXPECT_TRUE(held.grad().defined());
  EXPECT_TRUE(held.grad().is_cpu());
}

TEST(Materialize, SameSeedSameValuesOtherSeedOtherValues) {
  Transformer one(tiny(), at::kFloat), two(tiny(), at::kFloat), three(tiny(), at::kFloat);
  materialize(one, at::kCPU, 7);
  materialize(two, at::kCPU, 7);
  materialize(three, at::kCPU, 8);
  const auto a = values_of(one), b = values_of(two), c = values_of(three);
  for (const auto& [name, value] : a) {
    EXPECT_TRUE(at::equal(value, b.at(name))) << name;
    if (name.find("norm") == std::string::npos) {
      EXPECT_FALSE(at::equal(value, c.at(name))) << name;
    }
  }
}

TEST(Materialize, AddingAndExchangingModulesChangesNothingElse) {
  Transformer stock(tiny(2), at::kFloat), changed(tiny(3), at::kFloat);
  auto added = std::make_shared<Parameter>();
  added->tensor = at::empty({8, 32}, at::TensorOptions().device(at::kMeta)).requires_grad_();
  added->init = InitRule::normal(0.0, 1.0);
  added->init_key = added->stored_as = "lora/layers.0.attention.wq.a";
  changed.find("layers.0.attention.wq")->attach_parameter("lora/a", added);
  Slot* slot = nullptr;
  for (const auto& child : changed.find("layers.1.attention")->children())
    if (child->name() == "wk") slot = child.get();
  slot->exchange(std::make_unique<Linear>(32, 16, at::kFloat, InitRule::normal(0.0, 0.5)));
  materialize(stock, at::kCPU, 1);
  materialize(changed, at::kCPU, 1);
  const auto a = values_of(stock), b = values_of(changed);
  int64_t compared = 0;
  for (const auto& [name, value] : a) {
    if (name == "layers.1.attention.wk.weight") continue;
    EXPECT_TRUE(at::equal(value, b.at(name))) << name;
    ++compared;
  }
  EXPECT_EQ(compared, 20);
  // The exchanged one draws from the same generator: only the scale is another.
  EXPECT_TRUE(at::allclose(b.at("layers.1.attention.wk.weight"),
                           a.at("layers.1.attention.wk.weight") * (0.5 / 0.02)));
}

TEST(Materialize, NarrowTypesAreTheRoundedFloat32Values) {
  Transformer wide(tiny(), at::kFloat), narrow(tiny(), at::kBFloat16);
  materialize(wide, at::kCPU, 3);
  materialize(narrow, at::kCPU, 3);
  const auto a = values_of(wide), b = values_of(narrow);
  for (const auto& [name, value] : a) {
    ASSERT_EQ(b.at(name).scalar_type(), at::kBFloat16);
    EXPECT_TRUE(at::equal(value.to(at::kBFloat16), b.at(name))) << name;
  }
}

TEST(Materialize, BuffersAreFilled) {
  Transformer model(tiny(), at::kFloat);
  auto buffer = std::make_shared<Buffer>();
  buffer->tensor = at::empty({4}, at::TensorOptions().device(at::kMeta).dtype(at::kInt));
  buffer->init = InitRule::constant(3.0);
  model.attach_buffer("c/history", buffer);
  materialize(model, at::kCPU, 0);
  EXPECT_TRUE(at::equal(buffer->tensor, at::full({4}, 3, at::kInt)));
}

std::shared_ptr<Parameter> copy_of(const std::string& source, at::IntArrayRef shape,
                                   const std::string& name) {
  auto parameter = std::make_shared<Parameter>();
  parameter->tensor = at::empty(shape, at::TensorOptions().device(at::kMeta)).requires_grad_();
  parameter->init.kind = InitRule::Kind::kCopy;
  parameter->init.source = source;
  parameter->init_key = parameter->stored_as = name;
  return parameter;
}

TEST(Materialize, CopiesFollowChainsAndRefuseCircles) {
  Transformer model(tiny(), at::kFloat);
  const auto one = copy_of("c/two", {64, 32}, "c/one");
  model.attach_parameter("c/one", one);  // before its source in the order of parameters
  model.attach_parameter("c/two", copy_of("output.weight", {64, 32}, "c/two"));
  materialize(model, at::kCPU, 5);
  const at::Tensor source = model.find("output")->parameter("weight").tensor;
  EXPECT_TRUE(at::equal(one->tensor, source));
  EXPECT_NE(one->tensor.const_data_ptr(), source.const_data_ptr());

  Transformer circle(tiny(), at::kFloat);
  circle.attach_parameter("c/one", copy_of("c/two", {4}, "c/one"));
  circle.attach_parameter("c/two", copy_of("c/one", {4}, "c/two"));
  expect_error(ExitStatus::kUsage, {"c/one", "copies itself"},
               [&] { materialize(circle, at::kCPU, 0); });
  Transformer missing(tiny(), at::kFloat);
  missing.attach_parameter("c/one", copy_of("outputs.weight", {4}, "c/one"));
  expect_error(ExitStatus::kUsage, {"'outputs.weight'", "no parameter"},
               [&] { materialize(missing, at::kCPU, 0); });
  Transformer shape(tiny(), at::kFloat);
  shape.attach_parameter("c/one", copy_of("output.weight", {4}, "c/one"));
  expect_error(ExitStatus::kUsage, {"another shape"}, [&] { materialize(shape, at::kCPU, 0); });
}

TEST(Draw, ARangeIsAPartOfTheWhole) {
  const std::vector<InitRule> rules = {InitRule::normal(0.0, 1.0),
                                       InitRule::trunc_normal(0.0, 1.0, -2.0, 2.0),
                                       {InitRule::Kind::kUniform, -1.0, 3.0},
                                       {InitRule::Kind::kKaimingUniform}};
  for (const InitRule& rule : rules) {
    const at::Tensor whole = draw(rule, {10, 13}, 42, "w").view({-1});
    for (const auto& [first, count] :
         {std::pair{0, 130}, {1, 5}, {3, 6}, {4, 4}, {127, 3}, {60, 0}})
      EXPECT_TRUE(at::equal(draw_range(rule, {10, 13}, 42, "w", first, count),
                            whole.narrow(0, first, count)))
          << first << ", " << count;
  }
}

TEST(Draw, DoesNotDependOnThreads) {
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const at::Tensor one = draw(InitRule::normal(0.0, 1.0), {300, 301}, 1, "w");
  at::set_num_threads(3);
  const at::Tensor three = draw(InitRule::normal(0.0, 1.0), {300, 301}, 1, "w");
  at::set_num_threads(threads);
  EXPECT_TRUE(at::equal(one, three));
}

TEST(Draw, NormalHasTheMomentsOfANormal) {
  const at::Tensor x = draw(InitRule::normal(0.5, 2.0), {1000, 1000}, 9, "w").to(at::kDouble);
  const at::Tensor z = (x - 0.5) / 2.0;
  EXPECT_NEAR(z.mean().item<double>(), 0.0, 0.005);
  EXPECT_NEAR(z.square().mean().item<double>(), 1.0, 0.01);
  EXPECT_NEAR(z.pow(3).mean().item<double>(), 0.0, 0.02);
  EXPECT_NEAR(z.pow(4).mean().item<double>(), 3.0, 0.06);
  EXPECT_NEAR(z.abs().lt(1.0).to(at::kDouble).mean().item<double>(), 0.6826895, 0.003);
  // Neighbours (both values of a pair, and of near pairs) are not correlated.
  const at::Tensor flat = z.view({-1});
  for (const int64_t lag : {1, 2, 3, 4, 1000})
    EXPECT_NEAR((flat.narrow(0, 0, 990000) * flat.narrow(0, lag, 990000)).mean().item<double>(),
                0.0, 0.005)
        << lag;
}

TEST(Draw, NearKeysAndSeedsAreUnrelated) {
  const InitRule rule = InitRule::normal(0.0, 1.0);
  const at::Tensor a = draw(rule, {100000}, 0, "layers.0.w1");
  for (const auto& [seed, key] :
       std::vector<std::pair<uint64_t, std::string>>{{0, "layers.1.w1"}, {1, "layers.0.w1"}})
    EXPECT_NEAR((a * draw(rule, {100000}, seed, key)).mean().item<double>(), 0.0, 0.015) << key;
}

TEST(Draw, TruncatedNormalStaysInsideAndKeepsItsShape) {
  const at::Tensor x = draw(InitRule::trunc_normal(0.0, 0.1, -0.1, 0.1), {1000, 200}, 9, "w");
  EXPECT_LE(x.abs().max().item<double>(), 0.1);
  EXPECT_GT(x.max().item<double>(), 0.0999);
  // Variance of a standard normal between -1 and 1: 1 - 2 phi(1) / (2 Phi(1) - 1).
  EXPECT_NEAR(x.square().mean().item<double>() / 0.01, 0.291125, 0.003);
  // Bounds far away, as some models write them, put nothing onto the bound.
  const at::Tensor far = draw(InitRule::trunc_normal(0.0, 0.02, -2.0, 2.0), {2000, 1000}, 9, "w");
  EXPECT_LT(far.abs().max().item<double>(), 0.02 * 7);
  EXPECT_NEAR(far.square().mean().item<double>(), 4e-4, 4e-6);
}

TEST(Draw, UniformFillsItsInterval) {
  const at::Tensor x = draw({InitRule::Kind::kUniform, -1.0, 3.0}, {1000, 200}, 9, "w");
  EXPECT_GE(x.min().item<double>(), -1.0);
  EXPECT_LT(x.min().item<double>(), -0.999);
  EXPECT_LE(x.max().item<double>(), 3.0);
  EXPECT_GT(x.max().item<double>(), 2.999);
  EXPECT_NEAR(x.mean().item<double>(), 1.0, 0.01);
  const at::Tensor kaiming = draw({InitRule::Kind::kKaimingUniform}, {1000, 64}, 9, "w");
  EXPECT_LE(kaiming.abs().max().item<double>(), 0.125);
  EXPECT_GT(kaiming.abs().max().item<double>(), 0.1249);
}

TEST(Draw, BadRulesAreRefused) {
  expect_error(ExitStatus::kUsage, {"kaiming_uniform", "'w'"},
               [] { draw({InitRule::Kind::kKaimingUniform}, {8}, 0, "w"); });
  expect_error(ExitStatus::kUsage, {"-1", "deviation"},
               [] { draw(InitRule::normal(0.0, -1.0), {8}, 0, "w"); });
  expect_error(ExitStatus::kUsage, {"bounds"},
               [] { draw(InitRule::trunc_normal(0.0, 1.0, 2.0, 1.0), {8}, 0, "w"); });
}

}  // namespace
}  // namespace titan::model
