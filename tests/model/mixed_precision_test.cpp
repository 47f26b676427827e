/// Mixed precision: what is cast, when copies are made, and in which type gradients arrive.
#include "model/mixed_precision.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "model/layers/linear.h"
#include "support/small_llama.h"

namespace titan::model {
namespace {

using test::small_batch;
using test::small_llama;
using test::train_pass;

/// Types of x, and of what came out, at every module.
class TypeKeeper : public Observer {
 public:
  using Types = std::map<std::string, std::pair<at::ScalarType, at::ScalarType>>;
  explicit TypeKeeper(Types& types) : types_(types) {}
  void observe(Module& module, const CallContext&, const Inputs& inputs,
               const at::Tensor& output) override {
    types_[module.fqn()] = {inputs[0].scalar_type(), output.scalar_type()};
  }

 private:
  Types& types_;
};

TEST(MixedPrecisionTest, MatricesAreNarrowAndTheResidualStreamIsNot) {
  MixedPrecision bf16(at::kBFloat16);
  const auto root = small_llama();
  TypeKeeper::Types types;
  visit_modules(*root, [&](Module& m) { m.add_observer(std::make_unique<TypeKeeper>(types)); });
  const test::Pass pass = train_pass(*root, {.mixed_precision = &bf16});
  const auto narrow = std::make_pair(at::kBFloat16, at::kBFloat16);
  const auto wide = std::make_pair(at::kFloat, at::kFloat);
  EXPECT_EQ(types.at("layers.0.attention.wq"), narrow);
  EXPECT_EQ(types.at("layers.1.attention"), narrow);
  EXPECT_EQ(types.at("layers.1.feed_forward.w2"), narrow);
  EXPECT_EQ(types.at("output"), narrow);
  EXPECT_EQ(types.at("layers.0.attention_norm"), wide);
  EXPECT_EQ(types.at("layers.0"), wide);
  EXPECT_EQ(types.at("norm"), wide);
  EXPECT_EQ(types.at("tok_embeddings"), std::make_pair(at::kLong, at::kFloat));
  for (const auto& [name, gradient] : pass.gradients)
    EXPECT_EQ(gradient.scalar_type(), at::kFloat) << name;
}

/// torch's own, on the CPU.
class AutocastScope {
 public:
  AutocastScope() {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::increment_nesting();
  }
  ~AutocastScope() {
    at::autocast::decrement_nesting();
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
  }
};

/// ||a - b|| / ||b||
double distance(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor wide = b.detach().to(at::kDouble);
  return ((a.detach().to(at::kDouble) - wide).norm() / wide.norm()).item<double>();
}

TEST(MixedPrecisionTest, IsAtLeastAsCloseToFloat32AsAutocast) {
  const auto root = small_llama();
  const at::Tensor batch = small_batch(0), tokens = batch.narrow(1, 0, 24);
  const at::Tensor labels = batch.narrow(1, 1, 24).contiguous();
  using Numbers = std::map<std::string, at::Tensor>;
  const auto numbers_of = [&](const at::Tensor& logits) {
    cross_entropy(logits, labels, labels.numel()).backward();  // autocast is off in backward
    Numbers numbers{{"logits", logits}};
    for (const auto& named : named_parameters(*root)) {
      numbers[named.fqn] = named.parameter->tensor.grad();
      named.parameter->tensor.mutable_grad() = at::Tensor();
    }
    return numbers;
  };
  const Numbers exact = numbers_of((*root)({.step = 1, .training = true}, {tokens}));
  at::Tensor logits;
  {
    const AutocastScope autocast;
    logits = (*root)({.step = 1, .training = true}, {tokens});
  }
  const Numbers reference = numbers_of(logits);
  MixedPrecision bf16(at::kBFloat16);
  const Numbers numbers =
      numbers_of((*root)({.step = 1, .training = true, .mixed_precision = &bf16}, {tokens}));
  double sum = 0, reference_sum = 0;
  for (const auto& [name, tensor] : exact) {
    const double found = distance(numbers.at(name), tensor);
    const double allowed = distance(reference.at(name), tensor);
    EXPECT_GT(found, 1e-5) << name << " was not computed in bfloat16";
    EXPECT_LT(found, 1.25 * allowed) << name;
    sum += found;
    reference_sum += allowed;
  }
  EXPECT_LT(sum, reference_sum);
}

TEST(MixedPrecisionTest, ACopyServesUntilTheValuesChange) {
  MixedPrecision bf16(at::kBFloat16);
  Linear layer(4, 3, at::kFloat, InitRule::normal(0.0, 1.0));
  layer.assign_names("layer");
  materialize(layer, at::kCPU, 1);
  Parameter& weight = layer.parameter("weight");
  const at::Tensor first = bf16.cast(weight);
  EXPECT_TRUE(at::equal(first, weight.tensor.to(at::kBFloat16)));
  EXPECT_TRUE(bf16.cast(weight).is_same(first));
  {
    const at::NoGradGuard no_grad;
    weight.tensor.mul_(2);  // in place, without raising the version
  }
  EXPECT_TRUE(at::equal(bf16.cast(weight), weight.tensor.to(at::kBFloat16)));
  const at::Tensor second = bf16.cast(weight);
  weight.tensor.data().mul_(2);  // not even torch's counter sees this one...
  ++weight.version;              // ...the optimizer's does
  EXPECT_FALSE(bf16.cast(weight).is_same(second));
  EXPECT_TRUE(at::equal(bf16.cast(weight), weight.tensor.to(at::kBFloat16)));
}

TEST(MixedPrecisionTest, ACopyMadeWithoutGradientsStillPassesThem) {
  MixedPrecision bf16(at::kBFloat16);
  Linear layer(4, 3, at::kFloat, InitRule::normal(0.0, 1.0));
  layer.assign_names("layer");
  materialize(layer, at::kCPU, 1);
  const CallContext context{.step = 1, .training = true, .mixed_precision = &bf16};
  const at::Tensor x = at::ones({2, 4});
  {
    const at::NoGradGuard no_grad;
    layer(context, {x});
  }
  layer(context, {x}).sum().backward();
  const at::Tensor gradient = layer.parameter("weight").tensor.grad();
  ASSERT_TRUE(gradient.defined());
  EXPECT_EQ(gradient.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::equal(gradient, at::full({3, 4}, 2.0)));
}

TEST(MixedPrecisionTest, GradientsOfMicroBatchesAddUpInFloat32) {
  MixedPrecision bf16(at::kBFloat16);
  Linear layer(1, 1, at::kFloat, InitRule::constant(1.0));
  layer.assign_names("layer");
  materialize(layer, at::kCPU, 1);
  const CallContext context{.step = 1, .training = true, .mixed_precision = &bf16};
  // 256 + 1 + 1 + 1 is 256 in bfloat16, whose 8 digits end at steps of 2.
  for (const double x : {256.0, 1.0, 1.0, 1.0})
    layer(context, {at::full({1, 1}, x)}).sum().backward();
  EXPECT_EQ(layer.parameter("weight").tensor.grad().item<double>(), 259.0);
}

TEST(MixedPrecisionTest, WiderTypesStayAndIntegersStay) {
  const MixedPrecision bf16(at::kBFloat16);
  EXPECT_EQ(bf16.cast(at::ones({2}, at::kDouble)).scalar_type(), at::kDouble);
  EXPECT_EQ(bf16.cast(at::ones({2}, at::kLong)).scalar_type(), at::kLong);
  EXPECT_EQ(bf16.cast(at::ones({2}, at::kHalf)).scalar_type(), at::kBFloat16);
}

TEST(PureBfloat16Test, DrawsInFloat32AndRounds) {
  Linear wide(8, 8, at::kFloat, InitRule::normal(0.0, 1.0));
  Linear narrow(8, 8, at::kBFloat16, InitRule::normal(0.0, 1.0));
  for (Linear* layer : {&wide, &narrow}) {
    layer->assign_names("layer");
    materialize(*layer, at::kCPU, 7);
  }
  const at::Tensor rounded = narrow.parameter("weight").tensor;
  EXPECT_EQ(rounded.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal(rounded, wide.parameter("weight").tensor.to(at::kBFloat16)));
}

TEST(PureBfloat16Test, EverythingIsNarrow) {
  const auto root = small_llama(2, at::kBFloat16);
  TypeKeeper::Types types;
  visit_modules(*root, [&](Module& m) { m.add_observer(std::make_unique<TypeKeeper>(types)); });
  const test::Pass pass = train_pass(*root);
  for (const auto& [name, type] : types) EXPECT_EQ(type.second, at::kBFloat16) << name;
  for (const auto& [name, gradient] : pass.gradients)
    EXPECT_EQ(gradient.scalar_type(), at::kBFloat16) << name;
}

}  // namespace
}  // namespace titan::model
