/// The shipped device objects train the reference model: a build of the plugin in which nothing but
/// cuBLASLt's function table and the launch of kernels is a double, beside the plugin that
/// emulates. Optimizer, accumulation of micro-batches, validation in between, recomputation and
/// mixed precision are the trainer's own.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "float8_model.h"
#include "model/loss.h"
#include "model/mixed_precision.h"
#include "optim/adamw.h"

namespace titan::test {
namespace {

using converters::DeviceFacts;
using converters::ModelConvertersContainer;

struct Variant {
  std::string recipe = "tensorwise";
  bool device = false;
  int32_t capability = 90;
  bool mixed_precision = false;
  bool float32_gradients = false;
  bool recompute = false;
};

struct Result {
  std::vector<double> losses;
  double validation = 0;
  std::map<std::string, at::Tensor> parameters, buffers;
};

DeviceFacts gpu(int32_t capability) {
  DeviceFacts facts;
  facts.cuda = true;
  facts.name = "GPU";
  facts.capability_major = capability / 10;
  facts.capability_minor = capability % 10;
  facts.cublaslt_version = 130100;
  return facts;
}

/// Three steps of two micro-batches, each step followed by a pass without gradients.
Result train(const Variant& variant) {
  static const converters::Registry emulating = registry_of(FLOAT8_PLUGIN),
                                    on_double = registry_of(FLOAT8_ON_DOUBLE);
  setenv("FLOAT8_DOUBLE_CAPABILITY", std::to_string(variant.capability).c_str(), 1);
  model::ModelArgs args = golden_args();
  args.n_layers = 1;
  model::Transformer model(args, at::kFloat);
  auto wanted = request(!variant.device);
  wanted.options["recipe"] = {false, {variant.recipe}};
  wanted.options["amax_history_len"] = {false, {int64_t{variant.recipe == "delayed" ? 3 : 1024}}};
  wanted.options["grad_weight_fp32"] = {false, {variant.float32_gradients}};
  ModelConvertersContainer container(variant.device ? on_double : emulating, {wanted},
                                     variant.device ? gpu(variant.capability) : DeviceFacts{});
  container.convert(model);
  model::materialize(model, at::kCPU, 7);
  for (const auto& named : model::named_parameters(model))
    named.parameter->tensor.requires_grad_(true);
  if (variant.recompute)
    for (int64_t layer = 0; layer < args.n_layers; ++layer)
      model.find("layers." + std::to_string(layer))->set_recompute(model::Recompute::kAll);
  container.after_init(model, converters::HookReason::kFresh, {});
  optim::AdamOptions options;
  options.lr = 1e-3;
  optim::Optimizer optimizer(optim::trainable_tensors(model), options);
  optimizer.register_step_post_hook(
      [&](int64_t step) { container.post_optimizer_hook(model, step); });
  std::unique_ptr<model::MixedPrecision> mixed;
  if (variant.mixed_precision) mixed = std::make_unique<model::MixedPrecision>(at::kBFloat16);

  Result result;
  const auto batch = [&](int64_t number) {
    return ((at::arange(2 * 17, at::kLong) * 7 + number * 31) % args.vocab_size).view({2, 17});
  };
  for (int64_t step = 1; step <= 3; ++step) {
    double loss_of_step = 0;
    for (int64_t micro_batch = 0; micro_batch < 2; ++micro_batch) {
      model::CallContext context;
      context.step = step;
      context.micro_batch = micro_batch;
      context.training = true;
      context.mixed_precision = mixed.get();
      const at::Tensor tokens = batch(2 * step + micro_batch);
      const at::Tensor loss =
          model::cross_entropy(model(context, {tokens}), at::roll(tokens, -1, 1), 4 * 17);
      loss.backward();
      loss_of_step += loss.item<double>();
    }
    result.losses.push_back(loss_of_step);
    if (mixed) mixed->drop();
    optimizer.step(step);
    optimizer.zero_grad();
    const c10::NoGradGuard no_grad;
    model::CallContext context;
    context.step = step;
    context.mixed_precision = mixed.get();
    const at::Tensor tokens = batch(99);
    result.validation =
        model::cross_entropy(model(context, {tokens}), at::roll(tokens, -1, 1), 2 * 17)
            .item<double>();
  }
  for (const auto& named : model::named_parameters(model))
    result.parameters[named.fqn] = named.parameter->tensor.detach();
  for (const auto& named : model::named_buffers(model))
    result.buffers[named.fqn] = named.buffer->tensor;
  return result;
}

void expect_alike(const Result& device, const Result& emulated, double tolerance,
                  const std::string& where) {
  ASSERT_EQ(device.losses.size(), emulated.losses.size());
  for (size_t i = 0; i < device.losses.size(); ++i)
    EXPECT_NEAR(device.losses[i], emulated.losses[i], tolerance * emulated.losses[i])
        << where << " step " << i;
  EXPECT_NEAR(device.validation, emulated.validation, tolerance * emulated.validation) << where;
  ASSERT_EQ(device.buffers.size(), emulated.buffers.size()) << where;
  for (const auto& [name, buffer] : emulated.buffers) {
    const at::Tensor& got = device.buffers.at(name);
    // A weight that moves by a rounding moves an amax; from step to step that grows.
    if (got.numel() > 0) EXPECT_TRUE(at::allclose(got, buffer, 0.05, 1e-6)) << where << " " << name;
  }
}

TEST(DeviceTraining, EveryRecipeTrainsAsItsEmulation) {
  std::map<std::string, double> last;
  for (const auto& [recipe, capability] :
       std::vector<std::pair<std::string, int32_t>>{{"tensorwise", 89},
                                                    {"delayed", 90},
                                                    {"rowwise", 90},
                                                    {"rowwise", 120},
                                                    {"rowwise_with_gw_hp", 90},
                                                    {"rowwise_with_gw_hp", 100},
                                                    {"blockwise", 90},
                                                    {"mxfp8", 100}}) {
    Variant variant;
    variant.recipe = recipe;
    const Result emulated = train(variant);
    variant.device = true;
    variant.capability = capability;
    const Result device = train(variant);
    expect_alike(device, emulated, 2e-4, recipe + " on " + std::to_string(capability));
    EXPECT_LT(device.losses.back(), device.losses.front()) << recipe;
    last[recipe] = device.losses.back();
  }
  // And the recipes are not one and the same.
  std::set<double> distinct;
  for (const auto& [recipe, loss] : last) distinct.insert(loss);
  EXPECT_GE(distinct.size(), 5u);
}

TEST(DeviceTraining, RecomputationChangesNothing) {
  for (const char* recipe : {"delayed", "blockwise"}) {
    Variant variant;
    variant.recipe = recipe;
    variant.device = true;
    const Result kept = train(variant);
    variant.recompute = true;
    const Result again = train(variant);
    EXPECT_EQ(again.losses, kept.losses) << recipe;
    for (const auto& [name, buffer] : kept.buffers)
      EXPECT_TRUE(at::equal(again.buffers.at(name), buffer)) << recipe << " " << name;
    for (const auto& [name, parameter] : kept.parameters)
      EXPECT_TRUE(at::equal(again.parameters.at(name), parameter)) << recipe << " " << name;
  }
}

TEST(DeviceTraining, InMixedPrecisionWithGradientsAddedUpInFloat32) {
  for (const char* recipe : {"delayed", "rowwise_with_gw_hp", "blockwise"})
    for (const bool float32 : {false, true}) {
      Variant variant;
      variant.recipe = recipe;
      variant.mixed_precision = true;
      variant.float32_gradients = float32;
      const Result emulated = train(variant);
      variant.device = true;
      expect_alike(train(variant), emulated, 3e-3,
                   std::string(recipe) + (float32 ? " float32 gradients" : ""));
    }
}

}  // namespace
}  // namespace titan::test
