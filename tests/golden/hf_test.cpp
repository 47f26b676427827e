/// Hugging Face folders in: sizes, weights, and logits against those of transformers.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "checkpoint/hf_config.h"
#include "checkpoint/load_weights.h"
#include "checkpoint/weight_files.h"
#include "golden/golden_data.h"
#include "model/train_spec.h"

namespace titan {
namespace {

struct HfFolder {
  std::string name;
  model::TrainSpec spec;
};

std::vector<HfFolder> hf_folders() {
  return {{"llama_scaled", model::llama3_train_spec()},
          {"llama_tied", model::llama3_train_spec()},
          {"qwen3", model::qwen3_train_spec()},
          {"qwen3_untied", model::qwen3_train_spec()}};
}

/// The folders of the tree, or others that make.py beside them wrote.
std::filesystem::path hf_root() {
  const char* other = std::getenv("TITAN_HF_FOLDERS");
  return other && *other ? other : TITAN_SOURCE_DIR "/tests/golden/hf";
}

checkpoint::HfNameMap name_map(const model::TrainSpec& spec, const model::ModelArgs& args) {
  const std::shared_ptr<model::HfNaming> naming = spec.hf_naming(args);
  return {[naming](const std::string& name) { return naming->to_native(name); },
          [naming](const std::string& name, const at::Tensor& value) {
            return naming->value_to_native(name, value);
          }};
}

at::Tensor logits_of(const HfFolder& folder, const model::ModelArgs& args,
                     const at::Tensor& tokens) {
  const test::GoldenFolder golden((hf_root() / folder.name).string());
  const auto root = folder.spec.build(args, at::kFloat);
  model::materialize(*root, at::kCPU, 0);
  const checkpoint::HfNameMap names = name_map(folder.spec, args);
  EXPECT_TRUE(checkpoint::load_weights(*root, golden.path(), &names).hugging_face);
  const at::NoGradGuard no_grad;
  return (*root)({}, {tokens});
}

TEST(GoldenHf, LogitsAreThoseOfTransformers) {
  for (const HfFolder& folder : hf_folders()) {
    SCOPED_TRACE(folder.name);
    const test::GoldenFolder golden((hf_root() / folder.name).string());
    const auto expected = golden.tensors("expected.safetensors");
    const model::ModelArgs args =
        checkpoint::read_hf_config(golden.path() / "config.json", folder.spec);
    const at::Tensor logits = logits_of(folder, args, expected.at("tokens"));
    ASSERT_EQ(logits.sizes(), expected.at("logits").sizes());
    const double largest = expected.at("logits").abs().max().item<double>();
    const double difference = (logits - expected.at("logits")).abs().max().item<double>() / largest;
    const double theirs = expected.at("rounding").item<double>();
    std::cout << folder.name << ": " << logits.size(1) << " positions, largest relative difference "
              << difference << ", of transformers in float32 " << theirs << "\n";
    EXPECT_LE(theirs, 1e-5);
    EXPECT_LE(difference, 2 * theirs);
  }
}

/// Each fact of the config counts: without it the comparison above would not hold.
TEST(GoldenHf, EachFactOfTheConfigCounts) {
  const auto distance = [](const HfFolder& folder, auto change) {
    const test::GoldenFolder golden((hf_root() / folder.name).string());
    const auto expected = golden.tensors("expected.safetensors");
    model::ModelArgs args = checkpoint::read_hf_config(golden.path() / "config.json", folder.spec);
    change(args);
    const at::Tensor logits = logits_of(folder, args, expected.at("tokens"));
    return ((logits - expected.at("logits")).abs().max() / expected.at("logits").abs().max())
        .item<double>();
  };
  const auto none = [](model::ModelArgs& args) {
    args.rope_scaling.kind = model::RopeScaling::Kind::kNone;
  };
  for (const HfFolder& folder : {hf_folders()[0], hf_folders()[1]})
    EXPECT_GT(distance(folder, none), 1e-3) << folder.name;
  for (const HfFolder& folder : hf_folders()) {
    EXPECT_GT(distance(folder, [](model::ModelArgs& args) { args.rope_theta *= 2; }), 1e-3)
        << folder.name;
    EXPECT_GT(distance(folder, [](model::ModelArgs& args) { args.norm_eps = 1e-2; }), 1e-4)
        << folder.name;
  }
}

TEST(GoldenHf, TiedWeightsAreOneParameter) {
  for (const HfFolder& folder : hf_folders()) {
    const test::GoldenFolder golden((hf_root() / folder.name).string());
    const model::ModelArgs args =
        checkpoint::read_hf_config(golden.path() / "config.json", folder.spec);
    const auto root = folder.spec.build(args, at::kFloat);
    const bool tied = folder.name == "llama_tied" || folder.name == "qwen3";
    EXPECT_EQ(args.enable_weight_tying, tied) << folder.name;
    EXPECT_EQ(&root->find("output")->parameter("weight") ==
                  &root->find("tok_embeddings")->parameter("weight"),
              tied);
    int64_t count = 0;
    for (const auto& named : model::named_parameters(*root))
      count += named.parameter->tensor.numel();
    EXPECT_EQ(count, model::parameter_count(args)) << folder.name;
    // What transformers wrote: a tied head is not in the file.
    int64_t saved = 0;
    const checkpoint::WeightFiles files(golden.path());
    for (const std::string& name : files.names()) saved += files.tensor(name).numel();
    EXPECT_EQ(saved, count) << folder.name;
  }
}

}  // namespace
}  // namespace titan
