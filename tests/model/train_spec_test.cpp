/// The registry of models.
#include "model/train_spec.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace titan::model {
namespace {

using test::expect_error;

TrainSpec named_spec(const std::string& name) {
  TrainSpec spec = llama3_train_spec();
  spec.name = name;
  return spec;
}

TEST(TrainSpec, BuildsItsModel) {
  TrainSpecRegistry registry;
  registry.add(llama3_train_spec());
  registry.freeze();
  const TrainSpec& spec = registry.get("llama3");
  const auto model = spec.build(spec.flavor("debugmodel"), c10::kBFloat16);
  EXPECT_EQ(model->kind(), "decoder");
  EXPECT_EQ(named_parameters(*model).front().parameter->tensor.scalar_type(), c10::kBFloat16);
  EXPECT_EQ(spec.hf_naming(spec.flavor("8B"))->to_hf("output.weight"), "lm_head.weight");
  EXPECT_TRUE(spec.default_converters.empty());
}

TEST(TrainSpec, FamiliesAreDataOverOneDecoder) {
  for (const TrainSpec& spec : {llama3_train_spec(), qwen3_train_spec()}) {
    ASSERT_TRUE(spec.hf) << spec.name;
    for (const Flavor& flavor : spec.flavors) {
      EXPECT_EQ(flavor.args.qk_norm, spec.hf->qk_norm) << spec.name << " " << flavor.name;
      EXPECT_NO_THROW(flavor.args.validate()) << spec.name << " " << flavor.name;
    }
    EXPECT_EQ(spec.build(spec.flavor("debugmodel"), c10::kFloat)->kind(), "decoder");
  }
  EXPECT_TRUE(qwen3_train_spec().flavor("4B").enable_weight_tying);
  EXPECT_FALSE(qwen3_train_spec().flavor("8B").enable_weight_tying);
}

TEST(TrainSpec, UnknownNamesGetSuggestions) {
  TrainSpecRegistry registry;
  registry.add(llama3_train_spec());
  registry.freeze();
  expect_error(ExitStatus::kUsage, {"'lama3'", "did you mean 'llama3'", "model.name"},
               [&] { registry.get("lama3"); });
  expect_error(ExitStatus::kUsage,
               {"'debug_model'", "did you mean 'debugmodel'", "8B, 70B, 405B", "model.flavor"},
               [&] { registry.get("llama3").flavor("debug_model"); });
}

TEST(TrainSpec, RegistrationEndsWithFreezing) {
  TrainSpecRegistry registry;
  registry.add(named_spec("a"));
  expect_error(ExitStatus::kInternal, {"before it is frozen"}, [&] { registry.get("a"); });
  registry.add(named_spec("b"));
  registry.freeze();
  EXPECT_EQ(registry.names(), (std::vector<std::string>{"a", "b"}));
  expect_error(ExitStatus::kUsage, {"frozen", "'c'"}, [&] { registry.add(named_spec("c")); });
}

TEST(TrainSpec, DuplicatesAndHalfSpecsAreRefused) {
  TrainSpecRegistry registry;
  registry.add(named_spec("a"));
  expect_error(ExitStatus::kUsage, {"'a'", "registered already"},
               [&] { registry.add(named_spec("a")); });
  TrainSpec twice = named_spec("b");
  twice.flavors.push_back({"8B", {}});
  expect_error(ExitStatus::kUsage, {"'8B'", "twice"}, [&] { registry.add(twice); });
  TrainSpec half = named_spec("c");
  half.build = nullptr;
  expect_error(ExitStatus::kUsage, {"'c'", "build"}, [&] { registry.add(half); });
}

}  // namespace
}  // namespace titan::model
