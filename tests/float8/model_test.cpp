/// The plugin's real file in the real model: searched, judged, loaded, applied, and compared with
/// the first training step of a reference trainer.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "float8_model.h"
#include "model/loss.h"

namespace titan::test {
namespace {

using converters::DeviceFacts;
using converters::ModelConvertersContainer;
using converters::Record;

const converters::Registry& float8_registry() {
  static const converters::Registry registry = registry_of(FLOAT8_PLUGIN);
  return registry;
}

/// An error's text and hint, or "" if nothing was thrown.
template <class Body>
std::string error_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::kUsage) << error.what();
    EXPECT_FALSE(error.hint().empty()) << error.what();
    return std::string(error.what()) + " | " + error.hint();
  }
  return "";
}

at::Tensor to_tensor(const GoldenTensor& golden) {
  const auto type = golden.dtype == "I32" ? at::kInt : at::kFloat;
  return at::from_blob(const_cast<uint8_t*>(golden.bytes.data()), golden.shape, type).clone();
}

struct Step {
  at::Tensor logits, loss;
  std::map<std::string, at::Tensor> grads;
};

/// The first batch forward and backward, with or without float8.
Step run_first_step(bool float8) {
  const GoldenFile weights("llama/weights_native.safetensors");
  const GoldenFile golden("llama/step1_float8_tensorwise.safetensors");
  model::Transformer model(golden_args(), at::kFloat);
  std::vector<config::ConverterRequest> requests;
  if (float8) requests.push_back(request(true));
  ModelConvertersContainer container(float8_registry(), requests, DeviceFacts{});
  container.convert(model);
  model::materialize(model, at::kCPU, 0);
  const auto parameters = model::named_parameters(model);
  {
    const c10::NoGradGuard no_grad;
    for (const auto& named : parameters)
      named.parameter->tensor.copy_(to_tensor(weights[named.fqn]));
  }
  for (const auto& named : parameters) named.parameter->tensor.requires_grad_(true);
  const at::Tensor tokens = to_tensor(golden["tokens"]).to(at::kLong);
  const at::Tensor labels = to_tensor(golden["labels"]).to(at::kLong);
  model::CallContext context;
  context.step = 1;
  context.training = true;
  Step step;
  step.logits = model(context, {tokens});
  step.loss = model::cross_entropy(step.logits, labels, model::count_valid_labels(labels));
  step.loss.backward();
  for (const auto& named : parameters) step.grads[named.fqn] = named.parameter->tensor.grad();
  return step;
}

/// Largest difference over the largest reference value.
double difference(const at::Tensor& got, const GoldenTensor& expected) {
  const at::Tensor reference = to_tensor(expected).reshape(got.sizes());
  return ((got - reference).abs().max() / reference.abs().max()).item<double>();
}

TEST(Float8Model, ReproducesTheFirstStepOfTheReference) {
  const GoldenFile golden("llama/step1_float8_tensorwise.safetensors");
  const Step float8 = run_first_step(true);
  const Step plain = run_first_step(false);
  EXPECT_LE(difference(float8.loss, golden["loss"]), 1e-6);
  EXPECT_LE(difference(float8.logits, golden["logits"]), 1e-5);
  EXPECT_GT(difference(plain.logits, golden["logits"]), 1e-3)
      << "the reference is not told from plain float32";
  int grads = 0;
  for (const auto& [name, expected] : golden.tensors()) {
    if (name.rfind("grad.", 0) != 0) continue;
    const std::string parameter = name.substr(5);
    ASSERT_TRUE(float8.grads.count(parameter)) << parameter;
    EXPECT_LE(difference(float8.grads.at(parameter), expected), 1e-4) << name;
    EXPECT_GT(difference(plain.grads.at(parameter), expected), 1e-3) << name;
    ++grads;
  }
  EXPECT_EQ(grads, static_cast<int>(float8.grads.size()));
}

TEST(Float8Model, ReplacesWhatFitsAndSaysWhyTheRestStays) {
  model::ModelArgs args = golden_args();
  args.multiple_of = 8;   // feed-forward width 176: fits
  args.vocab_size = 250;  // output head: does not
  model::Transformer model(args, at::kFloat);
  ModelConvertersContainer container(float8_registry(), {request(true, {})}, DeviceFacts{});
  container.convert(model);
  int64_t kept = 0;
  for (const Record& record : container.records()) {
    if (record.kind != Record::Kind::kKeep) continue;
    ++kept;
    EXPECT_EQ(record.reason, "out_features 250 is not a multiple of 16: stays in high precision");
  }
  EXPECT_EQ(kept, 1);
  EXPECT_FALSE(model.find("output")->replaced());
  for (int64_t layer = 0; layer < args.n_layers; ++layer)
    for (const char* name : {"attention.wq", "attention.wk", "attention.wv", "attention.wo",
                             "feed_forward.w1", "feed_forward.w2", "feed_forward.w3"})
      EXPECT_TRUE(model.find("layers." + std::to_string(layer) + "." + name)->replaced()) << name;
}

TEST(Float8Model, ConvertingNothingIsAnError) {
  model::ModelArgs args = golden_args();
  args.vocab_size = 250;
  model::Transformer model(args, at::kFloat);
  ModelConvertersContainer container(float8_registry(), {request(true, {"layers.*"})},
                                     DeviceFacts{});
  const std::string text = error_of([&] { container.convert(model); });
  EXPECT_NE(text.find("found no linear layer that it can convert"), std::string::npos) << text;
  EXPECT_NE(text.find("output: out_features 250 is not a multiple of 16"), std::string::npos)
      << text;
  EXPECT_NE(text.find("float8.include"), std::string::npos) << text;
}

TEST(Float8Model, AnUnsupportedDeviceIsRefusedBeforeAnyWeightExists) {
  const auto refused = [](const DeviceFacts& device, bool emulate) {
    return error_of(
        [&] { ModelConvertersContainer container(float8_registry(), {request(emulate)}, device); });
  };
  EXPECT_EQ(refused(DeviceFacts{}, true), "");
  const std::string cpu = refused(DeviceFacts{}, false);
  EXPECT_NE(cpu.find("float8 needs a GPU of compute capability 8.9 or newer; this run is on CPU"),
            std::string::npos)
      << cpu;
  EXPECT_NE(cpu.find("--float8.emulate=true"), std::string::npos) << cpu;
  DeviceFacts a100;
  a100.cuda = true;
  a100.name = "NVIDIA A100-SXM4-80GB";
  a100.capability_major = 8;
  a100.cublaslt_version = 130100;
  const std::string old = refused(a100, false);
  EXPECT_NE(old.find("NVIDIA A100-SXM4-80GB has 8.0"), std::string::npos) << old;
}

TEST(Float8Model, RunsWithoutGradientsAndWithFrozenParts) {
  const auto train = [](bool frozen_weight, bool frozen_input) {
    model::Transformer model(golden_args(), at::kFloat);
    ModelConvertersContainer container(float8_registry(), {request(true)}, DeviceFacts{});
    container.convert(model);
    model::materialize(model, at::kCPU, 1);
    for (const auto& named : model::named_parameters(model)) {
      const bool is_weight = named.fqn == "layers.0.attention.wq.weight";
      const bool before_it =
          named.fqn == "tok_embeddings.weight" || named.fqn == "layers.0.attention_norm.weight";
      named.parameter->tensor.requires_grad_(!(frozen_weight && is_weight) &&
                                             !(frozen_input && before_it));
    }
    model::CallContext context;
    context.training = true;
    const at::Tensor tokens = at::arange(64, at::kLong).view({2, 32});
    model(context, {tokens}).sum().backward();
    std::map<std::string, at::Tensor> grads;
    for (const auto& named : model::named_parameters(model))
      grads[named.fqn] = named.parameter->tensor.grad();
    const c10::NoGradGuard no_grad;
    EXPECT_FALSE(model(model::CallContext{}, {tokens}).requires_grad());
    return grads;
  };
  const auto all = train(false, false), no_weight = train(true, false),
             no_input = train(false, true);
  for (const auto& [name, grad] : all) {
    ASSERT_TRUE(grad.defined()) << name;
    for (const auto& partial : {no_weight.at(name), no_input.at(name)}) {
      const bool agrees = !partial.defined() || at::equal(grad, partial);
      EXPECT_TRUE(agrees) << name;
    }
  }
  EXPECT_FALSE(no_weight.at("layers.0.attention.wq.weight").defined());
  EXPECT_FALSE(no_input.at("tok_embeddings.weight").defined());
}

TEST(Float8Model, TrainsInBFloat16) {
  model::Transformer model(golden_args(), at::kBFloat16);
  ModelConvertersContainer container(float8_registry(), {request(true)}, DeviceFacts{});
  container.convert(model);
  model::materialize(model, at::kCPU, 1);
  for (const auto& named : model::named_parameters(model))
    named.parameter->tensor.requires_grad_(true);
  model::CallContext context;
  context.training = true;
  const at::Tensor logits = model(context, {at::arange(64, at::kLong).view({2, 32})});
  EXPECT_EQ(logits.scalar_type(), at::kBFloat16);
  logits.sum().backward();
  for (const auto& named : model::named_parameters(model)) {
    ASSERT_TRUE(named.parameter->tensor.grad().defined()) << named.fqn;
    EXPECT_TRUE(at::isfinite(named.parameter->tensor.grad()).all().item<bool>()) << named.fqn;
  }
}

TEST(Float8Model, AnOverflowReachesTheLoss) {
  model::Transformer model(golden_args(), at::kFloat);
  ModelConvertersContainer container(float8_registry(), {request(true)}, DeviceFacts{});
  container.convert(model);
  model::materialize(model, at::kCPU, 1);
  const c10::NoGradGuard no_grad;
  model.find("layers.1.feed_forward.w1")->parameter("weight").tensor.view({-1})[7] = INFINITY;
  const at::Tensor logits = model(model::CallContext{}, {at::arange(64, at::kLong).view({2, 32})});
  EXPECT_TRUE(at::isnan(logits).all().item<bool>());
}

}  // namespace
}  // namespace titan::test
