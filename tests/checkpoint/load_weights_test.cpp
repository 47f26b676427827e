/// Loading weights into a model: names, layouts, ties, added state, and everything that can differ.
#include "checkpoint/load_weights.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "checkpoint/safetensors.h"
#include "checkpoint/safetensors_bytes.h"
#include "model/module.h"
#include "support/scratch_folder.h"

namespace titan::checkpoint {
namespace {

using test::expect_error;
using test::golden_llama;
using test::ScratchFolder;

/// A model of any shape: modules that hold one weight each, under the names that are asked for.
class WeightHolder final : public model::Module {
 public:
  WeightHolder() : Module("weight_holder") {}

  /// "layers.0.norm.weight" becomes the parameter "weight" of the child "layers.0.norm".
  void add(const std::string& fqn, std::vector<int64_t> shape, at::ScalarType type = at::kFloat) {
    const size_t dot = fqn.rfind('.');
    auto child = std::make_unique<WeightHolder>();
    child->add_parameter(fqn.substr(dot + 1), std::move(shape), type, model::InitRule::constant(7));
    add_child(fqn.substr(0, dot), std::move(child));
    assign_names("");
  }
  /// A child `fqn` whose weight is the parameter of the child `source`.
  void tie(const std::string& fqn, const std::string& source) {
    auto child = std::make_unique<WeightHolder>();
    child->attach_parameter("weight", find(source)->parameters().front().parameter);
    add_child(fqn, std::move(child));
    assign_names("");
  }
  WeightHolder& materialized() {
    model::materialize(*this, at::kCPU, 1);
    return *this;
  }
  model::Parameter& weight(const std::string& module) { return find(module)->parameter("weight"); }

 protected:
  at::Tensor forward(const model::CallContext&, const model::Inputs& inputs) override {
    return inputs.at(0);
  }
};

/// Parameters as the golden native file has them.
std::unique_ptr<WeightHolder> golden_model() {
  auto root = std::make_unique<WeightHolder>();
  const SafetensorsReader file(golden_llama() / "weights_native.safetensors");
  for (const TensorEntry& entry : file.tensors()) root->add(entry.name, entry.shape);
  root->materialized();
  return root;
}

/// The mapping as the description of the golden data gives it.
HfNameMap golden_names() {
  const auto json = nlohmann::json::parse(test::read_file(golden_llama() / "config.json"));
  const int64_t head_dim = json["head_dim"];
  HfNameMap map;
  map.native_name = [](const std::string& hf) -> std::optional<std::string> {
    static const std::map<std::string, std::string> kNames = {
        {"self_attn.q_proj", "attention.wq"},    {"self_attn.k_proj", "attention.wk"},
        {"self_attn.v_proj", "attention.wv"},    {"self_attn.o_proj", "attention.wo"},
        {"mlp.gate_proj", "feed_forward.w1"},    {"mlp.down_proj", "feed_forward.w2"},
        {"mlp.up_proj", "feed_forward.w3"},      {"input_layernorm", "attention_norm"},
        {"post_attention_layernorm", "ffn_norm"}};
    if (hf == "model.embed_tokens.weight") return "tok_embeddings.weight";
    if (hf == "model.norm.weight") return "norm.weight";
    if (hf == "lm_head.weight") return "output.weight";
    std::smatch parts;
    if (!std::regex_match(hf, parts, std::regex(R"(model\.(layers\.\d+)\.(.*)\.weight)")))
      return std::nullopt;
    const auto it = kNames.find(parts[2]);
    if (it == kNames.end()) return std::nullopt;
    return parts[1].str() + "." + it->second + ".weight";
  };
  map.to_native = [head_dim](const std::string& name, const at::Tensor& tensor) {
    if (name.find(".wq.") == std::string::npos && name.find(".wk.") == std::string::npos)
      return tensor;
    const int64_t heads = tensor.size(0) / head_dim;
    return tensor.view({heads, 2, head_dim / 2, tensor.size(1)})
        .transpose(1, 2)
        .reshape(tensor.sizes());
  };
  return map;
}

TEST(LoadWeightsTest, NativeAndHuggingFaceFilesGiveTheSameModel) {
  const HfNameMap names = golden_names();
  auto native = golden_model(), hf = golden_model();
  EXPECT_FALSE(
      load_weights(*native, golden_llama() / "weights_native.safetensors", &names).hugging_face);
  EXPECT_TRUE(load_weights(*hf, golden_llama() / "weights_hf.safetensors", &names).hugging_face);
  const SafetensorsReader file(golden_llama() / "weights_native.safetensors");
  const auto native_parameters = model::named_parameters(*native);
  const auto hf_parameters = model::named_parameters(*hf);
  ASSERT_EQ(native_parameters.size(), file.tensors().size());
  for (size_t i = 0; i < native_parameters.size(); ++i) {
    const at::Tensor expected = file.tensor(native_parameters[i].fqn);
    EXPECT_TRUE(at::equal(native_parameters[i].parameter->tensor, expected))
        << native_parameters[i].fqn;
    EXPECT_TRUE(at::equal(hf_parameters[i].parameter->tensor, expected)) << hf_parameters[i].fqn;
  }
}

TEST(LoadWeightsTest, FillsInPlaceAndRaisesTheVersion) {
  ScratchFolder folder;
  write_safetensors(folder / "w", {{"norm.weight", at::tensor({1.0, 2.0}, at::kDouble)}});
  WeightHolder root;
  root.add("norm.weight", {2}, at::kBFloat16);
  model::Parameter& parameter = root.materialized().weight("norm");
  parameter.tensor.requires_grad_();
  const at::Tensor handle = parameter.tensor;
  const void* data = handle.const_data_ptr();
  const uint64_t version = parameter.version;
  load_weights(root, folder / "w");
  EXPECT_TRUE(parameter.tensor.is_same(handle));
  EXPECT_EQ(handle.const_data_ptr(), data);
  EXPECT_TRUE(handle.is_leaf());
  EXPECT_GT(parameter.version, version);
  EXPECT_TRUE(at::equal(handle.detach(), at::tensor({1.0, 2.0}).to(at::kBFloat16)));
}

TEST(LoadWeightsTest, TypesMustBeEqualWhereNothingMayBeRounded) {
  ScratchFolder folder;
  write_safetensors(folder / "w", {{"norm.weight", at::tensor({1.0, 2.0}, at::kDouble)}});
  WeightHolder root;
  root.add("norm.weight", {2});
  root.materialized();
  expect_error(ExitStatus::kData, {"of another type", "norm.weight: found F64, needed Float"},
               [&] { load_weights(root, folder / "w", nullptr, TypeRule::kExact); });
  EXPECT_TRUE(at::equal(root.weight("norm").tensor.detach(), at::full({2}, 7.0f)));
  write_safetensors(folder / "w", {{"norm.weight", at::tensor({1.0, 2.0}, at::kFloat)}});
  load_weights(root, folder / "w", nullptr, TypeRule::kExact);
}

TEST(LoadWeightsTest, ListsEverythingThatDoesNotFitAndChangesNothing) {
  ScratchFolder folder;
  write_safetensors(folder / "w", {{"layers.0.w.weight", at::ones({2})},
                                   {"layers.0.b.weight", at::ones({3, 2})},
                                   {"layers.0.nrom.weight", at::ones({2})},
                                   {"layers.0.i.weight", at::ones({2}, at::kInt)},
                                   {"layers.0.f8.weight", at::ones({2}).to(at::kFloat8_e4m3fn)}});
  WeightHolder root;
  root.add("layers.0.w.weight", {2});
  root.add("layers.0.b.weight", {2, 3});
  root.add("layers.0.norm.weight", {2});
  root.add("layers.0.i.weight", {2});
  root.add("layers.0.f8.weight", {2});
  root.materialized();
  expect_error(
      ExitStatus::kData,
      {"do not fit", "missing in the file (1)", "layers.0.norm.weight", "unknown to the model (1)",
       "layers.0.nrom.weight (the model has no value yet for 'layers.0.norm.weight')",
       "of another shape (1)", "layers.0.b.weight: found [3, 2], needed [2, 3]",
       "of a type that cannot be converted (2)", "layers.0.i.weight: found I32, needed Float",
       "layers.0.f8.weight: found F8_E4M3", "/w"},
      [&] { load_weights(root, folder / "w"); });
  EXPECT_EQ(root.weight("layers.0.w").tensor.sum().item<float>(), 14) << "nothing was loaded";
}

TEST(LoadWeightsTest, LongListsAreShortened) {
  ScratchFolder folder;
  std::map<std::string, at::Tensor> tensors = {{"norm.weight", at::ones({1})}};
  for (int i = 0; i < 100; ++i) tensors["extra." + std::to_string(i)] = at::ones({1});
  write_safetensors(folder / "w", tensors);
  WeightHolder root;
  root.add("norm.weight", {1});
  expect_error(ExitStatus::kData, {"unknown to the model (100)", "and 92 more"},
               [&] { load_weights(root.materialized(), folder / "w"); });
}

TEST(LoadWeightsTest, SaysWhenNoNameIsKnown) {
  const HfNameMap names = golden_names();
  auto root = golden_model();
  expect_error(ExitStatus::kData, {"none of the", "'lm_head.weight'", "native names"},
               [&] { load_weights(*root, golden_llama() / "weights_hf.safetensors"); });
  ScratchFolder folder;
  write_safetensors(folder / "w", {{"encoder.weight", at::ones({1})}});
  expect_error(ExitStatus::kData, {"none of the 1", "'encoder.weight'", "Hugging Face"},
               [&] { load_weights(*root, folder / "w", &names); });
}

TEST(LoadWeightsTest, HuggingFaceShapesAreCheckedBeforeAnyLayoutChange) {
  ScratchFolder folder;
  std::map<std::string, at::Tensor> tensors;
  const SafetensorsReader file(golden_llama() / "weights_hf.safetensors");
  for (const TensorEntry& entry : file.tensors()) tensors[entry.name] = file.tensor(entry.name);
  at::Tensor& q = tensors["model.layers.0.self_attn.q_proj.weight"];
  q = q.narrow(0, 0, q.size(0) - 1);  // no longer a whole number of heads
  tensors["model.rotary_emb.inv_freq"] = at::ones({4});
  write_safetensors(folder / "w", tensors);
  HfNameMap names = golden_names();
  auto root = golden_model();
  expect_error(ExitStatus::kData,
               {"of another shape (1)", "model.layers.0.self_attn.q_proj.weight: found",
                "unknown to the model (1)", "inv_freq"},
               [&] { load_weights(*root, folder / "w", &names); });
  tensors["model.layers.0.self_attn.q_proj.weight"] =
      file.tensor("model.layers.0.self_attn.q_proj.weight");
  write_safetensors(folder / "w", tensors);
  names.ignored = [](const std::string& name) { return name.ends_with("rotary_emb.inv_freq"); };
  EXPECT_TRUE(load_weights(*root, folder / "w", &names).hugging_face);
}

TEST(LoadWeightsTest, TiedParametersAreFoundUnderEachName) {
  ScratchFolder folder;
  WeightHolder root;
  root.add("tok_embeddings.weight", {2});
  root.tie("output", "tok_embeddings");
  root.materialized();
  const at::Tensor value = at::tensor({1.0f, 2.0f});
  for (const char* name : {"tok_embeddings.weight", "output.weight"}) {
    write_safetensors(folder / "w", {{name, value}});
    root.weight("output").tensor.detach().zero_();
    load_weights(root, folder / "w");
    EXPECT_TRUE(at::equal(root.weight("output").tensor, value)) << name;
  }
  write_safetensors(folder / "w", {{"tok_embeddings.weight", value}, {"output.weight", value}});
  load_weights(root, folder / "w");
  write_safetensors(folder / "w",
                    {{"tok_embeddings.weight", value}, {"output.weight", at::add(value, 1)}});
  expect_error(ExitStatus::kData, {"different values", "'output.weight'", "one parameter"},
               [&] { load_weights(root, folder / "w"); });
}

TEST(LoadWeightsTest, StateOfConvertersMayBeMissingOrUnused) {
  ScratchFolder folder;
  WeightHolder root;
  root.add("wq.weight", {2});
  auto added = std::make_shared<model::Parameter>();
  added->tensor = at::empty({3}, at::TensorOptions().device(at::kMeta));
  added->init = model::InitRule::constant(0.5);
  added->stored_as = "lora/wq.a";
  root.find("wq")->attach_parameter("lora/a", added);
  for (const bool persistent : {true, false}) {
    auto buffer = std::make_shared<model::Buffer>();
    buffer->tensor = at::empty({4}, at::TensorOptions().device(at::kMeta));
    buffer->stored_as = persistent ? "float8/wq.amax" : "float8/wq.cache";
    buffer->persistent = persistent;
    root.find("wq")->attach_buffer(persistent ? "float8/amax" : "float8/cache", buffer);
  }
  root.assign_names("");
  root.materialized();

  write_safetensors(folder / "w", {{"wq.weight", at::ones({2})}, {"other/wq.x", at::ones({9})}});
  LoadReport report = load_weights(root, folder / "w");
  EXPECT_EQ(report.missing_added, (std::vector<std::string>{"lora/wq.a", "float8/wq.amax"}));
  EXPECT_EQ(report.unused_added, (std::vector<std::string>{"other/wq.x"}));
  EXPECT_EQ(added->tensor.sum().item<float>(), 1.5) << "what is missing keeps its initial values";

  write_safetensors(folder / "w", {{"wq.weight", at::ones({2})},
                                   {"lora/wq.a", at::ones({3})},
                                   {"float8/wq.amax", at::full({4}, 2.0)}});
  report = load_weights(root, folder / "w");
  EXPECT_TRUE(report.missing_added.empty());
  EXPECT_EQ(added->tensor.sum().item<float>(), 3);
  EXPECT_EQ(root.find("wq")->buffers()[0].buffer->tensor.sum().item<float>(), 8);

  write_safetensors(folder / "w", {{"lora/wq.a", at::ones({3})}});
  expect_error(ExitStatus::kData, {"missing in the file (1)", "wq.weight"},
               [&] { load_weights(root, folder / "w"); });
}

TEST(LoadWeightsTest, WithoutStorageTheFilesAreChecked) {
  auto root = std::make_unique<WeightHolder>();
  root->add("norm.weight", {2});
  ScratchFolder folder;
  write_safetensors(folder / "fits", {{"norm.weight", at::ones({2})}});
  EXPECT_FALSE(load_weights(*root, folder / "fits").copied);
  write_safetensors(folder / "not", {{"norm.weight", at::ones({3})}});
  expect_error(ExitStatus::kData, {"norm.weight", "[3]", "[2]"},
               [&] { load_weights(*root, folder / "not"); });
  model::materialize(*root, at::kCPU, 0);
  EXPECT_TRUE(load_weights(*root, folder / "fits").copied);
}

}  // namespace
}  // namespace titan::checkpoint
