/// What level 2 of the contract added to structs, as plugins of both levels see it, and
/// predictions.
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/error.h"
#include "converters/plan.h"
#include "converters/plan_report.h"
#include "converters/scripted_plugin.h"
#include "support/expect_error.h"
#include "support/tiny_model.h"

namespace titan::converters {
namespace {

using test::expect_refused;
using test::scripted;
using test::TinyModel;

/// Fills `given` bytes of a T through `ask`, and expects that the bytes behind them stay as they
/// are.
template <class T, class Ask>
T asked(uint32_t given, Ask&& ask) {
  T value;
  std::memset(&value, 0x5a, sizeof value);
  value.struct_size = given;
  EXPECT_EQ(ask(&value), TITAN_OK) << given;
  EXPECT_EQ(value.struct_size, given);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&value);
  for (size_t i = given; i < sizeof value; ++i)
    EXPECT_EQ(bytes[i], 0x5a) << "byte " << i << " of " << given;
  return value;
}

TEST(ContractLevel, CreateInfoTellsOfTheRunAndFitsPluginsOfLevel1) {
  bool ran = false;
  scripted({[&](const sdk::Create& create) {
              ran = true;
              EXPECT_EQ(create.tokens_per_call(), 12345);
              EXPECT_EQ(create.compute_dtype().code, TITAN_DTYPE_BFLOAT);
              EXPECT_EQ(create.parameter_dtype().code, TITAN_DTYPE_FLOAT);
              EXPECT_EQ(create.parameter_dtype().bits, 32);
            },
            {},
            {}},
           {"one"}, {12345, at::kBFloat16, at::kFloat});
  EXPECT_TRUE(ran);

  auto table = sdk::converter<test::ScriptedConverter>("one");
  table.create = [](titan_create* context, void** instance) noexcept -> titan_status {
    *instance = nullptr;
    const auto ask = [&](titan_create_info* info) {
      return sdk::host().create_info(context, info);
    };
    for (const uint32_t given : {32u, 40u, 48u}) {
      const auto info = asked<titan_create_info>(given, ask);
      EXPECT_TRUE(titan_equal(info.instance, "one"));
      EXPECT_EQ(info.device->type, TITAN_CPU);
      if (given >= 40) {
        EXPECT_EQ(info.tokens_per_call, 77);
      }
    }
    auto info = sized<titan_create_info>();
    for (const uint32_t wrong : {0u, 8u, 24u, 31u, 44u, 1u << 20}) {
      info.struct_size = wrong;
      expect_refused(ask(&info), TITAN_INVALID_ARGUMENT,
                     {"struct_size is " + std::to_string(wrong), "at least 32"});
    }
    return TITAN_OK;
  };
  table.destroy = nullptr;
  Registry registry;
  registry.register_model_converter({"one", "test", "scripted.so", {}},
                                    plugin_converter_factory("scripted", "scripted.so", table));
  ModelConvertersContainer(registry, {{"one", "one", {}, {}, {}, {}}}, DeviceFacts{},
                           RunFacts{77, at::kFloat, at::kFloat});
}

TEST(ContractLevel, HookInfoTellsOfTheDeviceAndFitsPluginsOfLevel1) {
  int64_t steps = 0;
  const auto container = scripted({{}, {}, [&](const sdk::Hook& hook) {
                                     EXPECT_EQ(hook.info().device.type, TITAN_CPU);
                                     EXPECT_EQ(hook.info().device.index, 0);
                                     EXPECT_EQ(hook.info().stream, nullptr);
                                     ++steps;
                                   }});
  TinyModel model;
  container->convert(model);
  model::materialize(model, at::kCPU, 1);
  container->post_optimizer_hook(model, 3);
  EXPECT_EQ(steps, 1);

  HookContext context{HookReason::kStep, 9, "one", {}};
  auto table = sdk::converter<test::ScriptedConverter>("one");
  table.create = nullptr;
  table.destroy = nullptr;
  table.post_optimizer_hook = [](void*, titan_hook* hook) noexcept -> titan_status {
    const auto ask = [&](titan_hook_info* info) { return sdk::host().hook_info(hook, info); };
    for (const uint32_t given : {16u, 24u, 32u}) {
      const auto info = asked<titan_hook_info>(given, ask);
      EXPECT_EQ(info.reason, TITAN_HOOK_STEP);
      EXPECT_EQ(info.step, 9);
    }
    auto info = sized<titan_hook_info>();
    for (const uint32_t wrong : {0u, 8u, 20u}) {
      info.struct_size = wrong;
      expect_refused(ask(&info), TITAN_INVALID_ARGUMENT,
                     {"struct_size is " + std::to_string(wrong), "at least 16"});
    }
    return TITAN_OK;
  };
  const config::ConverterRequest request{"one", "one", {}, {}, {}, {}};
  const DeviceFacts device;
  const RunFacts run;
  plugin_converter_factory("scripted", "scripted.so", table)({request, device, run})
      ->post_optimizer_hook(context);
}

class Predicted : public ::testing::Test {
 protected:
  static void replace(const sdk::Module& module) {
    module.replace(std::make_unique<test::ScriptedLinear>([](const sdk::Call&) {}));
  }
  static titan_prediction prediction(double speedup, int64_t tokens = 4096,
                                     std::string_view basis = "modelled: a test") {
    auto made = sized<titan_prediction>();
    made.speedup = speedup;
    made.tokens = tokens;
    made.basis = sdk::to_string(basis);
    return made;
  }
};

TEST_F(Predicted, MisuseIsAnsweredAndLeavesNothingBehind) {
  uint64_t b = 0;
  const auto record = [&](const titan_prediction& given, uint64_t module) {
    return sdk::host().record_prediction(test::model_handle(), module, &given);
  };
  const auto container = scripted(
      {{},
       [&](const sdk::Model& found) {
         const sdk::Module module = *found.find("b");
         b = module.index();
         expect_refused(record(prediction(1.5), b), TITAN_INVALID_ARGUMENT,
                        {"neither replaces nor wraps", "first"});
         module.freeze("weight");
         expect_refused(record(prediction(1.5), b), TITAN_INVALID_ARGUMENT,
                        {"neither replaces nor wraps"});
         replace(module);
         expect_refused(record(prediction(std::nan("")), b), TITAN_INVALID_ARGUMENT,
                        {"nan", "above 0"});
         expect_refused(record(prediction(-1.5), b), TITAN_INVALID_ARGUMENT, {"-1.5", "above 0"});
         expect_refused(record(prediction(0), b), TITAN_INVALID_ARGUMENT, {"0.0", "above 0"});
         expect_refused(record(prediction(std::numeric_limits<double>::infinity()), b),
                        TITAN_INVALID_ARGUMENT, {"inf"});
         expect_refused(record(prediction(1.5, 0), b), TITAN_INVALID_ARGUMENT,
                        {"tokens is 0", "tokens_per_call"});
         expect_refused(record(prediction(1.5, -8), b), TITAN_INVALID_ARGUMENT, {"tokens is -8"});
         for (const std::string& basis :
              {std::string(), std::string("two\nlines"), std::string(201, 'a')})
           expect_refused(record(prediction(1.5, 8, basis), b), TITAN_INVALID_ARGUMENT,
                          {"the basis"});
         titan_prediction small = prediction(1.5);
         small.struct_size = 32;
         expect_refused(record(small, b), TITAN_INVALID_ARGUMENT, {"struct_size is 32"});
         expect_refused(sdk::host().record_prediction(test::model_handle(), b, nullptr),
                        TITAN_INVALID_ARGUMENT, {"NULL"});
         expect_refused(record(prediction(1.5), 999), TITAN_NOT_FOUND, {"999"});
         EXPECT_EQ(record(prediction(1.5, 8, std::string(200, 'a')), b), TITAN_OK);
         expect_refused(record(prediction(1.5), b), TITAN_INVALID_ARGUMENT,
                        {"'b' is predicted twice"});
       },
       {}});
  TinyModel tiny;
  container->convert(tiny);
  expect_refused(record(prediction(1.5), b), TITAN_WRONG_STATE, {"convert() is over"});
  ASSERT_EQ(container->records().size(), 2u);
  EXPECT_FALSE(container->records()[0].prediction);
  ASSERT_TRUE(container->records()[1].prediction);
  EXPECT_EQ(container->records()[1].prediction->tokens, 8);
}

TEST_F(Predicted, MemoryIsRecordedAndMisuseAnswered) {
  const auto container = scripted(
      {{},
       [&](const sdk::Model& found) {
         const sdk::Module a = *found.find("a"), b = *found.find("b");
         replace(a);
         replace(b);
         const auto record = [&](const titan_prediction& given) {
           return sdk::host().record_prediction(test::model_handle(), b.index(), &given);
         };
         titan_prediction made = prediction(0, 8);
         made.saved_bytes = 5;
         expect_refused(record(made), TITAN_INVALID_ARGUMENT, {"without TITAN_PREDICTION_MEMORY"});
         made.saved_bytes = 0;
         made.flags = TITAN_PREDICTION_KEEPS_INPUTS;
         expect_refused(record(made), TITAN_INVALID_ARGUMENT, {"without TITAN_PREDICTION_MEMORY"});
         made.flags = 8;
         expect_refused(record(made), TITAN_INVALID_ARGUMENT, {"flags are 8"});
         made.flags = TITAN_PREDICTION_MEMORY;
         made.working_bytes = -1;
         expect_refused(record(made), TITAN_INVALID_ARGUMENT, {"negative"});
         // A plugin that was built before memory was part of it.
         titan_prediction before = prediction(1.5, 8);
         before.struct_size = offsetof(titan_prediction, saved_bytes);
         before.saved_bytes = -7;  // what happens to lie behind it
         EXPECT_EQ(record(before), TITAN_OK);
         a.predict_memory(
             {.saved_bytes = 1, .working_bytes = 2, .cache_bytes = 3, .keeps_inputs = true}, 8,
             "a test");
       },
       {}});
  TinyModel tiny;
  container->convert(tiny);
  ASSERT_EQ(container->records().size(), 2u);
  const Prediction& said = *container->records()[0].prediction;
  EXPECT_EQ(said.speedup, 0);
  ASSERT_TRUE(said.memory);
  EXPECT_EQ(said.memory->saved, 1);
  EXPECT_EQ(said.memory->working, 2);
  EXPECT_EQ(said.memory->cache, 3);
  EXPECT_TRUE(said.memory->keeps_inputs);
  EXPECT_FALSE(said.memory->keeps_output);
  EXPECT_EQ(container->records()[1].prediction->speedup, 1.5);
  EXPECT_FALSE(container->records()[1].prediction->memory);
}

TEST_F(Predicted, IsShownByThePlanAndAddedUpByFlops) {
  int64_t converted = 0;
  const auto container = scripted(
      {{},
       [&](const sdk::Model& found) {
         const sdk::Module a = *found.find("a"), box = *found.find("box"), b = *found.find("b");
         if (converted++ > 0) return b.freeze("weight");  // the second converter predicts nothing
         replace(a);
         a.predict(2.0, 4096, "modelled: a test");
         box.wrap_after(std::make_unique<test::ScriptedLinear>([](const sdk::Call&) {}));
         box.predict(4.0, 4096, "measured: a test");
         b.wrap_after(std::make_unique<test::ScriptedLinear>([](const sdk::Call&) {}));
         b.predict(0.5, 4096, "modelled: a test");
       },
       {}},
      {"one", "two"});
  TinyModel model;
  const StockModel stock(model);
  container->convert(model);
  const Plan plan = make_plan(stock, *container);

  // 6 operations for each of 16, 16 (box.c) and 8 values; 1/2, 1/4 and 2 times their time.
  ASSERT_EQ(plan.speeds.size(), 2u);
  EXPECT_EQ(plan.speeds[0].flops_per_token, 6 * 40);
  EXPECT_DOUBLE_EQ(plan.speeds[0].speedup, 40.0 / (8 + 4 + 16));
  EXPECT_EQ(plan.speeds[0].tokens, 4096);
  EXPECT_EQ(plan.speeds[0].bases,
            (std::vector<std::string>{"modelled: a test", "measured: a test"}));
  EXPECT_EQ(plan.speeds[1].speedup, 0);

  const std::string text = plan_text(plan, {});
  EXPECT_NE(text.find("one: replace (2.00x)"), std::string::npos) << text;
  EXPECT_NE(text.find("one: wrap (4.00x)"), std::string::npos) << text;
  EXPECT_NE(
      text.find("\none: linears together predicted to be 1.43x as fast, at 4,096 tokens a call "
                "(modelled: a test; measured: a test)\n"),
      std::string::npos)
      << text;
  const std::string json = plan_json(plan, {});
  EXPECT_NE(json.find("\"prediction\": null"), std::string::npos) << json;
  EXPECT_NE(json.find("\"basis\": \"measured: a test\""), std::string::npos) << json;
}

}  // namespace
}  // namespace titan::converters
