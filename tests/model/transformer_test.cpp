/// The decoder: sizes, names, counts, initial deviations, refusals.
#include "model/transformer.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "model/flavors.h"
#include "model/loss.h"
#include "support/expect_error.h"

namespace titan::model {
namespace {

using test::expect_error;

ModelArgs flavor_of(const std::vector<Flavor>& flavors, const std::string& name) {
  for (const Flavor& flavor : flavors)
    if (flavor.name == name) return flavor.args;
  throw std::runtime_error("no flavor " + name);
}
ModelArgs args_of(const std::string& name) { return flavor_of(llama3_flavors(), name); }
ModelArgs qwen3_of(const std::string& name) { return flavor_of(qwen3_flavors(), name); }

struct Expected {
  std::string flavor;
  int64_t hidden, head_dim, parameters, flops_2048, flops_8192;
};

void expect_counts(const std::vector<Flavor>& flavors, const std::vector<Expected>& table) {
  ASSERT_EQ(flavors.size(), table.size());
  for (const Expected& expected : table) {
    const ModelArgs args = flavor_of(flavors, expected.flavor);
    EXPECT_EQ(args.ffn_hidden_dim(), expected.hidden) << expected.flavor;
    EXPECT_EQ(args.head_dim(), expected.head_dim) << expected.flavor;
    EXPECT_EQ(parameter_count(args), expected.parameters) << expected.flavor;
    EXPECT_EQ(flops_per_token(args, 2048), expected.flops_2048) << expected.flavor;
    EXPECT_EQ(flops_per_token(args, 8192), expected.flops_8192) << expected.flavor;

    const auto start = std::chrono::steady_clock::now();
    Transformer model(args, at::kBFloat16);
    int64_t counted = 0;
    for (const auto& named : named_parameters(model)) {
      EXPECT_TRUE(named.parameter->tensor.is_meta());
      counted += named.parameter->tensor.numel();
    }
    EXPECT_EQ(counted, expected.parameters) << expected.flavor;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1)) << expected.flavor;
  }
}

TEST(Transformer, FlavorsHaveTheirKnownCounts) {
  expect_counts(llama3_flavors(),
                {
                    {"debugmodel", 768, 16, 6163712, 71585280, 184831488},
                    {"8B", 14336, 128, 8030261248, 48250773504, 57914449920},
                    {"70B", 28672, 128, 70553706496, 433124327424, 481442709504},
                    {"405B", 53248, 128, 405853388800, 2473246556160, 2625449459712},
                });
}

/// Parameters as transformers counts them; FLOPs are 6 for each but the table of an untied model,
/// and those of attention.
TEST(Transformer, Qwen3FlavorsHaveTheirKnownCounts) {
  expect_counts(qwen3_flavors(), {
                                     {"debugmodel", 768, 64, 6426624, 114057216, 340549632},
                                     {"0.6B", 3072, 128, 596049920, 4985585664, 9213444096},
                                     {"1.7B", 6144, 128, 1720574976, 11732736000, 15960594432},
                                     {"4B", 9728, 128, 4022468096, 27758687232, 38630323200},
                                     {"8B", 12288, 128, 8190735360, 49034311680, 59905947648},
                                     {"14B", 17408, 128, 14768307200, 88975534080, 104075028480},
                                     {"32B", 25600, 128, 32762123264, 204790167552, 243444873216},
                                 });
}

TEST(Transformer, NamesInRegistrationOrder) {
  ModelArgs args = args_of("debugmodel");
  args.n_layers = 2;
  Transformer model(args, at::kFloat);
  std::vector<std::string> names;
  for (const auto& named : named_parameters(model)) {
    names.push_back(named.fqn);
    EXPECT_EQ(named.parameter->init_key, named.fqn);
  }
  std::vector<std::string> expected = {"tok_embeddings.weight"};
  for (const std::string layer : {"layers.0.", "layers.1."})
    for (const std::string rest :
         {"attention.wq", "attention.wk", "attention.wv", "attention.wo", "feed_forward.w1",
          "feed_forward.w2", "feed_forward.w3", "attention_norm", "ffn_norm"})
      expected.push_back(layer + rest + ".weight");
  expected.push_back("norm.weight");
  expected.push_back("output.weight");
  EXPECT_EQ(names, expected);
}

TEST(Transformer, ATiedHeadIsTheTable) {
  ModelArgs args = qwen3_of("debugmodel");
  args.n_layers = 1;
  Transformer model(args, at::kFloat);
  std::vector<std::string> names;
  for (const auto& named : named_parameters(model)) names.push_back(named.fqn);
  EXPECT_EQ(names.front(), "tok_embeddings.weight");
  EXPECT_EQ(std::count(names.begin(), names.end(), "output.weight"), 0);
  EXPECT_EQ(std::count(names.begin(), names.end(), "layers.0.attention.q_norm.weight"), 1);
  materialize(model, at::kCPU, 3);
  const at::Tensor table = model.find("tok_embeddings")->parameter("weight").tensor;
  EXPECT_TRUE(model.find("output")->parameter("weight").tensor.is_same(table));
  EXPECT_NEAR(table.std().item<double>(), 0.02, 0.0002)
      << "as other matrices, not as a table or head of its own";

  // The gradient is the sum of both uses: nudging one entry of the table changes the loss through
  // both.
  const at::Tensor tokens = at::arange(2 * 9, at::kLong).mul(5).remainder(16).view({2, 9});
  const auto loss = [&] {
    return cross_entropy(model({.step = 1, .training = true}, {tokens.narrow(1, 0, 8)}),
                         tokens.narrow(1, 1, 8), 16);
  };
  loss().backward();
  const at::NoGradGuard no_grad;
  const at::Tensor grad = table.grad();
  EXPECT_GT(grad[5].abs().sum().item<double>(), 0) << "looked up";
  EXPECT_GT(grad[1000].abs().sum().item<double>(), 0) << "only in the head";
  const at::Tensor direction = grad / grad.norm();
  const double step = 1e-2;
  table.add_(direction, step);
  const double above = loss().item<double>();
  table.sub_(direction, 2 * step);
  const double below = loss().item<double>();
  EXPECT_NEAR((above - below) / (2 * step), grad.norm().item<double>(),
              2e-3 * grad.norm().item<double>());
}

TEST(Transformer, InitialDeviationsFollowTheDepth) {
  ModelArgs args = args_of("debugmodel");
  Transformer model(args, at::kFloat);
  materialize(model, at::kCPU, 1);
  const auto deviation = [&](const std::string& module) {
    return model.find(module)->parameter("weight").tensor.std().item<double>();
  };
  EXPECT_NEAR(deviation("tok_embeddings"), 1.0, 0.01);
  for (const int64_t layer : {0, 2, 5}) {
    const std::string prefix = "layers." + std::to_string(layer) + ".";
    for (const std::string name :
         {"attention.wq", "attention.wk", "attention.wv", "feed_forward.w1"})
      EXPECT_NEAR(deviation(prefix + name), 0.02, 0.0003) << prefix << name;
    const double expected = 0.02 / std::sqrt(2.0 * static_cast<double>(layer + 1));
    for (const std::string name : {"attention.wo", "feed_forward.w2", "feed_forward.w3"})
      EXPECT_NEAR(deviation(prefix + name), expected, 0.015 * expected) << prefix << name;
  }
  const at::Tensor head = model.find("output")->parameter("weight").tensor;
  EXPECT_LE(head.abs().max().item<double>(), 3.0 / 16 + 1e-6);
  EXPECT_GT(head.abs().max().item<double>(), 2.9 / 16);
  EXPECT_NEAR(head.std().item<double>(), 0.98658 / 16, 0.0003);  // normal cut at 3 deviations
  EXPECT_TRUE(at::equal(model.find("norm")->parameter("weight").tensor, at::ones({256})));

  args.depth_init = false;
  Transformer flat(args, at::kFloat);
  EXPECT_DOUBLE_EQ(flat.find("layers.0.attention.wo")->parameter("weight").init.b,
                   0.02 / std::sqrt(12.0));
}

TEST(Transformer, FirstLossIsThatOfAnUntrainedModel) {
  Transformer model(args_of("debugmodel"), at::kFloat);
  materialize(model, at::kCPU, 0);
  const at::NoGradGuard no_grad;
  const at::Tensor tokens = at::arange(2 * 65, at::kLong).mul(37).remainder(2048).view({2, 65});
  const at::Tensor logits = model({}, {tokens.narrow(1, 0, 64)});
  ASSERT_EQ(logits.sizes(), (std::vector<int64_t>{2, 64, 2048}));
  const double loss = cross_entropy(logits, tokens.narrow(1, 1, 64), 128).item<double>();
  EXPECT_GT(loss, std::log(2048.0) + 0.2);
  EXPECT_LT(loss, std::log(2048.0) + 0.8);
}

TEST(Transformer, ShorterAndLongerSequencesAgree) {
  Transformer model(args_of("debugmodel"), at::kFloat);
  materialize(model, at::kCPU, 0);
  const at::NoGradGuard no_grad;
  const at::Tensor tokens = at::arange(48, at::kLong).view({1, 48});
  const at::Tensor early = model({}, {tokens.narrow(1, 0, 8)});  // a short rope table first
  const at::Tensor whole = model({}, {tokens});
  EXPECT_TRUE(at::allclose(whole.narrow(1, 0, 8), early, 1e-5, 1e-5));
  EXPECT_TRUE(at::equal(model({}, {tokens.narrow(1, 0, 8)}), early));
}

TEST(Transformer, SequencesBeyondTheModelAreRefused) {
  ModelArgs args = args_of("debugmodel");
  args.max_seq_len = 8;
  Transformer model(args, at::kFloat);
  materialize(model, at::kCPU, 0);
  expect_error(ExitStatus::kUsage, {"9 tokens", "8", "model.max_seq_len"}, [&] {
    model({}, {at::zeros({1, 9}, at::kLong)});
  });
  expect_error(ExitStatus::kInternal, {"int64"}, [&] { model({}, {at::zeros({1, 4}, at::kInt)}); });
}

TEST(ModelArgs, ImpossibleSizesAreRefused) {
  const auto refused = [](const char* key, auto change) {
    ModelArgs args = args_of("debugmodel");
    change(args);
    expect_error(ExitStatus::kUsage, {key}, [&] { Transformer(args, at::kFloat); });
  };
  refused("model.args.dim", [](ModelArgs& args) { args.dim = 250; });
  refused("model.args.dim", [](ModelArgs& args) { args.dim = 16 * 15; });
  refused("model.args.dim", [](ModelArgs& args) { args.dim = 0; });
  refused("model.args.head_dim", [](ModelArgs& args) { args.given_head_dim = 7; });
  refused("model.args.head_dim", [](ModelArgs& args) { args.given_head_dim = 0; });
  refused("model.args.hidden_dim", [](ModelArgs& args) { args.given_hidden_dim = 0; });
  refused("model.args.n_layers", [](ModelArgs& args) { args.n_layers = 0; });
  refused("model.args.n_heads", [](ModelArgs& args) { args.n_heads = -1; });
  refused("model.args.n_kv_heads", [](ModelArgs& args) { args.n_kv_heads = 3; });
  refused("model.args.n_kv_heads", [](ModelArgs& args) { args.n_kv_heads = 0; });
  refused("model.args.vocab_size", [](ModelArgs& args) { args.vocab_size = 0; });
  refused("model.args.multiple_of", [](ModelArgs& args) { args.multiple_of = 0; });
  refused("model.args.norm_eps", [](ModelArgs& args) { args.norm_eps = NAN; });
  refused("model.args.ffn_dim_multiplier", [](ModelArgs& args) { args.ffn_dim_multiplier = 1e-9; });
  refused("model.args.rope_high_freq_factor",
          [](ModelArgs& args) { args.rope_scaling.high_freq_factor = 1.0; });
}

TEST(ModelArgs, HeadsOfTheirOwnWidthNeedNotDivideDim) {
  ModelArgs args = args_of("debugmodel");
  args.dim = 250;
  args.n_heads = 12;
  args.given_head_dim = 20;
  args.n_layers = 1;
  Transformer model(args, at::kFloat);
  EXPECT_EQ(model.find("layers.0.attention.wq")->parameter("weight").tensor.sizes(),
            (std::vector<int64_t>{240, 250}));
  EXPECT_EQ(model.find("layers.0.attention.wo")->parameter("weight").tensor.sizes(),
            (std::vector<int64_t>{250, 240}));
}

TEST(ModelArgs, EffectiveArgsAreWhatCounts) {
  ModelArgs args = args_of("debugmodel"), same = args;
  same.n_kv_heads = 16;
  same.given_head_dim = 16;
  same.given_hidden_dim = 768;
  same.multiple_of = 1;
  same.max_seq_len = 5;
  EXPECT_EQ(effective_args(same), effective_args(args));
  EXPECT_EQ(effective_args(args).at("rope_scaling_factor"), "8.0");
  args.rope_scaling.factor = 1;
  same.rope_scaling.kind = RopeScaling::Kind::kNone;
  EXPECT_EQ(effective_args(same), effective_args(args));
  EXPECT_EQ(effective_args(args).count("rope_low_freq_factor"), 0u);
  same.qk_norm = true;
  EXPECT_NE(effective_args(same), effective_args(args));
}

}  // namespace
}  // namespace titan::model
