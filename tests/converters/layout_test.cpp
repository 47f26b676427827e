/// Layouts: concatenation, permutation and slices of stock parameters, from recording to training.
#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "converters/container.h"
#include "support/tiny_model.h"

namespace titan::converters {
namespace {

using test::TinyModel;

/// y = x W^T with W held as `transposed`, its own transpose.
class TransposedLinear final : public model::Replacement {
 public:
  at::Tensor forward(model::Module& module, const model::CallContext&,
                     const model::Inputs& inputs) override {
    return at::matmul(inputs[0], module.parameter("t/transposed").tensor);
  }
};

/// W held as two halves of its columns, the second one first.
class HalvedLinear final : public model::Replacement {
 public:
  at::Tensor forward(model::Module& module, const model::CallContext&,
                     const model::Inputs& inputs) override {
    const at::Tensor left = module.parameter("t/left").tensor,
                     right = module.parameter("t/right").tensor;
    return at::matmul(inputs[0], at::cat({left, right}, 1).t());
  }
};

using LayoutScript = std::function<void(Recorder&)>;

class LayoutConverter final : public ModelConverter {
 public:
  explicit LayoutConverter(LayoutScript script) : script_(std::move(script)) {}
  void convert(Recorder& recorder) override { script_(recorder); }

 private:
  LayoutScript script_;
};

std::unique_ptr<ModelConvertersContainer> layouts(const LayoutScript& script) {
  Registry registry;
  registry.register_model_converter({"t", "test", "built in", {}}, [script](const CreateContext&) {
    return std::make_unique<LayoutConverter>(script);
  });
  return std::make_unique<ModelConvertersContainer>(
      registry, std::vector<config::ConverterRequest>{{"t", "t", {}, {}, {}, {}}}, DeviceFacts{});
}

size_t index_of(Recorder& recorder, const std::string& fqn) {
  return static_cast<size_t>(recorder.model().find(fqn));
}

void transposed(Recorder& recorder) {
  recorder.layout(index_of(recorder, "b"), {"transposed", 0, {{"weight", -1, 0, 0, {1, 0}}}});
  recorder.replace(index_of(recorder, "b"), std::make_unique<TransposedLinear>());
}

void halved(Recorder& recorder) {
  recorder.layout(index_of(recorder, "b"), {"right", 0, {{"weight", 1, 2, 2, {}}}});
  recorder.layout(index_of(recorder, "b"), {"left", 0, {{"weight", 1, 0, 2, {}}}});
  recorder.replace(index_of(recorder, "b"), std::make_unique<HalvedLinear>());
}

/// Output and stock-shaped gradient of b's weight in a fresh model.
std::pair<at::Tensor, at::Tensor> run_once(const LayoutScript* script) {
  TinyModel model;
  std::unique_ptr<ModelConvertersContainer> container;
  if (script) {
    container = layouts(*script);
    container->convert(model);
  }
  model::materialize(model, at::kCPU, 5);
  const at::Tensor x = at::arange(12, at::kFloat).view({3, 4}) / 10;
  const at::Tensor y = model.run(x);
  y.sum().backward();
  std::vector<std::pair<std::vector<model::LayoutPart>, at::Tensor>> gradients;
  at::Tensor plain;
  for (const auto& named : model::named_parameters(model)) {
    if (!named.parameter->layout.empty())
      gradients.emplace_back(named.parameter->layout, named.parameter->tensor.grad());
    if (named.fqn == "b.weight") plain = named.parameter->tensor.grad();
  }
  if (!script) return {y.detach(), plain};
  const auto stock = model::stock_tensors(gradients);
  EXPECT_EQ(stock.size(), 1u);
  EXPECT_EQ(stock.front().name(), "b.weight");
  return {y.detach(), stock.front().tensor()};
}

TEST(Layout, FreshWeightsAndGradientsAreThoseOfTheStockModel) {
  const auto [y, gradient] = run_once(nullptr);
  for (const LayoutScript& script : {LayoutScript(transposed), LayoutScript(halved)}) {
    const auto [other_y, other_gradient] = run_once(&script);
    EXPECT_TRUE(at::allclose(y, other_y, 1e-6, 1e-6));
    EXPECT_EQ(other_gradient.sizes(), gradient.sizes());
    EXPECT_TRUE(at::allclose(gradient, other_gradient, 1e-6, 1e-6));
  }
}

TEST(Layout, StockNamesGoAndStockTensorsStay) {
  TinyModel plain, model;
  model::materialize(plain, at::kCPU, 5);
  layouts(halved)->convert(model);
  model::materialize(model, at::kCPU, 5);
  std::vector<std::pair<std::vector<model::LayoutPart>, at::Tensor>> wholes;
  for (const auto& named : model::named_parameters(model)) {
    EXPECT_NE(named.fqn, "b.weight");
    if (!named.parameter->layout.empty())
      wholes.emplace_back(named.parameter->layout, named.parameter->tensor);
  }
  ASSERT_EQ(wholes.size(), 2u);
  const auto stock = model::stock_tensors(wholes);
  ASSERT_EQ(stock.size(), 1u);
  EXPECT_FALSE(stock[0].is_view());
  EXPECT_TRUE(at::equal(stock[0].tensor(), plain.find("b")->parameter("weight").tensor));
  // What is loaded into the stock tensor arrives in its pieces.
  at::Tensor tensor = stock[0].tensor();
  tensor.copy_(at::arange(8, at::kFloat).view({2, 4}));
  stock[0].write_back();
  EXPECT_TRUE(at::equal(model.find("b")->parameter("t/left").tensor.detach(),
                        at::tensor({0.f, 1.f, 4.f, 5.f}).view({2, 2})));
  EXPECT_TRUE(at::equal(model.find("b")->parameter("t/right").tensor.detach(),
                        at::tensor({2.f, 3.f, 6.f, 7.f}).view({2, 2})));
}

TEST(Layout, FreezingThePartsFreezesTheWhole) {
  TinyModel model;
  layouts([](Recorder& recorder) {
    transposed(recorder);
    recorder.freeze(index_of(recorder, "b"), "weight");
  })->convert(model);
  EXPECT_FALSE(model.find("b")->parameter("t/transposed").tensor.requires_grad());
}

TEST(Layout, WhatCannotBeIsRefused) {
  struct Case {
    std::string text;
    LayoutScript script;
  };
  const auto with = [](LayoutSpec spec) {
    return [spec](Recorder& recorder) {
      recorder.replace(index_of(recorder, "b"), std::make_unique<TransposedLinear>());
      recorder.layout(index_of(recorder, "b"), spec);
    };
  };
  const std::vector<Case> cases = {
      {"does not replace",
       [](Recorder& recorder) {
         recorder.layout(index_of(recorder, "b"), {"n", 0, {{"weight", -1, 0, 0, {}}}});
       }},
      {"no parts", with({"n", 0, {}})},
      {"has no parameter 'bias'", with({"n", 0, {{"bias", -1, 0, 0, {}}}})},
      {"name of a stock parameter", with({"weight", 0, {{"weight", -1, 0, 0, {}}}})},
      {"2 times", with({"n", 0, {{"weight", -1, 0, 0, {}}, {"weight", -1, 0, 0, {}}}})},
      {"gap or overlap", with({"n", 0, {{"weight", 1, 0, 3, {}}}})},
      {"gap or overlap", with({"n", 1, {{"weight", 1, 0, 3, {}}, {"weight", 1, 2, 2, {}}}})},
      {"not inside", with({"n", 0, {{"weight", 1, 3, 2, {}}}})},
      {"cut along dimension 2", with({"n", 0, {{"weight", 2, 0, 1, {}}}})},
      {"each of its 2 dimensions once", with({"n", 0, {{"weight", -1, 0, 0, {0, 0}}}})},
      {"concat_dim is 2", with({"n", 2, {{"weight", -1, 0, 0, {}}}})},
      {"does not fit beside",
       with({"n", 1, {{"weight", 0, 0, 1, {}}, {"weight", 0, 1, 1, {1, 0}}}})},
      {"tied by",
       [](Recorder& recorder) {
         recorder.replace(index_of(recorder, "a"), std::make_unique<TransposedLinear>());
         recorder.layout(index_of(recorder, "a"), {"n", 0, {{"weight", -1, 0, 0, {}}}});
         recorder.tie(index_of(recorder, "a"), "weight", index_of(recorder, "box.c"), "weight");
       }},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.text);
    TinyModel model;
    try {
      layouts(each.script)->convert(model);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), ExitStatus::kUsage);
      EXPECT_NE(std::string(error.what()).find(each.text), std::string::npos) << error.what();
    }
    EXPECT_TRUE(model.find("b")->parameter("weight").tensor.requires_grad());
  }
}

}  // namespace
}  // namespace titan::converters
