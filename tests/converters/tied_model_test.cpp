/// Parameters that the stock model ties: seen as such, and neither moved nor tied again.
#include <gtest/gtest.h>

#include <algorithm>

#include "converters/container.h"
#include "converters/plan.h"
#include "converters/stock_model.h"
#include "model/transformer.h"
#include "support/expect_error.h"

namespace titan::converters {
namespace {

model::Transformer tied_decoder(bool tied = true) {
  model::ModelArgs args;
  args.dim = 16;
  args.n_layers = 1;
  args.n_heads = 2;
  args.vocab_size = 32;
  args.multiple_of = 8;
  args.qk_norm = true;
  args.enable_weight_tying = tied;
  return {args, at::kFloat};
}

class TiedScript final : public ModelConverter {
 public:
  explicit TiedScript(std::function<void(Recorder&)> script) : script_(std::move(script)) {}
  void convert(Recorder& recorder) override { script_(recorder); }

 private:
  std::function<void(Recorder&)> script_;
};

std::unique_ptr<ModelConvertersContainer> script_of(const std::function<void(Recorder&)>& script) {
  Registry registry;
  registry.register_model_converter({"t", "test", "built in", {}}, [script](const CreateContext&) {
    return std::make_unique<TiedScript>(script);
  });
  return std::make_unique<ModelConvertersContainer>(
      registry, std::vector<config::ConverterRequest>{{"t", "t", {}, {}, {}, {}}}, DeviceFacts{});
}

size_t module_index(Recorder& recorder, const std::string& fqn) {
  return static_cast<size_t>(recorder.model().find(fqn));
}

class NoForward final : public model::Replacement {
 public:
  at::Tensor forward(model::Module&, const model::CallContext&,
                     const model::Inputs& inputs) override {
    return inputs[0];
  }
};

TEST(TiedModel, ATiedParameterIsKnownByItsFirstName) {
  model::Transformer root = tied_decoder();
  const StockModel stock(root);
  const auto weight = [&](const std::string& fqn) {
    return stock[static_cast<size_t>(stock.find(fqn))].parameters.front();
  };
  EXPECT_TRUE(weight("output").tied);
  EXPECT_TRUE(weight("tok_embeddings").tied);
  EXPECT_EQ(weight("output").stored_name, "tok_embeddings.weight");
  EXPECT_TRUE(weight("tok_embeddings").multiplies) << "as the head";
  EXPECT_FALSE(weight("layers.0.attention.wq").tied);
  EXPECT_FALSE(weight("layers.0.attention.q_norm").multiplies);
  model::Transformer apart = tied_decoder(false);
  const StockModel untied(apart);
  EXPECT_FALSE(
      untied[static_cast<size_t>(untied.find("tok_embeddings"))].parameters.front().multiplies);
}

TEST(TiedModel, FreezingBothNamesFreezesOneParameter) {
  for (const bool tied : {true, false}) {
    model::Transformer root = tied_decoder(tied);
    const StockModel stock(root);
    const auto container = script_of([](Recorder& recorder) {
      recorder.freeze(module_index(recorder, "tok_embeddings"), "weight");
      recorder.freeze(module_index(recorder, "output"), "weight");
    });
    container->convert(root);
    const Plan plan = make_plan(stock, *container);
    EXPECT_EQ(plan.total.parameters_frozen, (tied ? 1 : 2) * 32 * 16);
    EXPECT_EQ(plan.total.flops_per_token, -2 * 32 * 16)
        << "the head's product needs no gradient of its weight";
    EXPECT_EQ(plan.stock_parameters, model::parameter_count(root.args()));
  }
}

TEST(TiedModel, ItIsNeitherMovedNorTiedAgain) {
  model::Transformer root = tied_decoder();
  test::expect_error(ExitStatus::kUsage,
                     {"'output.weight' is tied in the stock model", "enable_weight_tying"}, [&] {
                       script_of([](Recorder& recorder) {
                         recorder.replace(module_index(recorder, "output"),
                                          std::make_unique<NoForward>());
                         recorder.layout(module_index(recorder, "output"),
                                         {"whole", 0, {{"weight", -1, 0, 0, {}}}});
                       })->convert(root);
                     });
  test::expect_error(ExitStatus::kUsage, {"tied in the stock model already"}, [&] {
    script_of([](Recorder& recorder) {
      recorder.tie(module_index(recorder, "output"), "weight",
                   module_index(recorder, "tok_embeddings"), "weight");
    })->convert(root);
  });
}

}  // namespace
}  // namespace titan::converters
