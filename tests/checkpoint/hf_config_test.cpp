/// config.json of Hugging Face folders: read in both spellings, refused by key, written again.
#include "checkpoint/hf_config.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/expect_error.h"
#include "support/scratch_folder.h"

namespace titan::checkpoint {
namespace {

using Json = nlohmann::json;
using Kind = model::RopeScaling::Kind;

/// Llama 3.2 1B as its config.json has it (transformers 4).
Json llama_config() {
  return Json::parse(R"({
    "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
    "bos_token_id": 128000, "eos_token_id": 128001, "head_dim": 64, "hidden_act": "silu",
    "hidden_size": 2048, "initializer_range": 0.02, "intermediate_size": 8192,
    "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "llama",
    "num_attention_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8, "pretraining_tp": 1,
    "rms_norm_eps": 1e-05,
    "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                     "original_max_position_embeddings": 8192, "rope_type": "llama3"},
    "rope_theta": 500000.0, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
    "transformers_version": "4.45.0.dev0", "use_cache": true, "vocab_size": 128256})");
}

class HfConfig : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& text) {
    const auto path = scratch_.path() / "config.json";
    std::ofstream(path) << text;
    return path;
  }
  model::ModelArgs read(const Json& config,
                        const model::TrainSpec& spec = model::llama3_train_spec()) {
    return read_hf_config(write(config.dump()), spec);
  }
  void refused(const char* key, const Json& value, const std::string& says,
               const model::TrainSpec& spec = model::llama3_train_spec()) {
    Json config = llama_config();
    config[key] = value;
    test::expect_error(ExitStatus::kData, {says, "config.json"}, [&] { read(config, spec); });
  }
  test::ScratchFolder scratch_;
};

TEST_F(HfConfig, ReadsEverySizeOfALlama) {
  const model::ModelArgs args = read(llama_config());
  EXPECT_EQ(args.dim, 2048);
  EXPECT_EQ(args.n_layers, 16);
  EXPECT_EQ(args.kv_heads(), 8);
  EXPECT_EQ(args.head_dim(), 64);
  EXPECT_EQ(args.ffn_hidden_dim(), 8192);
  EXPECT_EQ(args.max_seq_len, 131072);
  EXPECT_EQ(args.norm_eps, 1e-5);
  EXPECT_EQ(args.rope_theta, 500000.0);
  EXPECT_EQ(args.rope_scaling.kind, Kind::kLlama3);
  EXPECT_EQ(args.rope_scaling.factor, 32.0);
  EXPECT_TRUE(args.enable_weight_tying);
  EXPECT_FALSE(args.qk_norm);
  EXPECT_EQ(model::parameter_count(args), 1235814400)
      << "the count that is published for Llama 3.2 1B";
}

TEST_F(HfConfig, WhatAnOldConfigLeavesOutHasTheDefaultOfItsClass) {
  Json config = llama_config();
  for (const char* key : {"num_key_value_heads", "head_dim", "rope_theta", "rope_scaling",
                          "rms_norm_eps", "attention_bias", "mlp_bias", "max_position_embeddings",
                          "tie_word_embeddings", "architectures"})
    config.erase(key);
  const model::ModelArgs args = read(config);
  EXPECT_EQ(args.kv_heads(), 32);
  EXPECT_EQ(args.head_dim(), 64);
  EXPECT_EQ(args.rope_theta, 10000.0);
  EXPECT_EQ(args.rope_scaling.kind, Kind::kNone);
  EXPECT_EQ(args.norm_eps, 1e-6);
  EXPECT_EQ(args.max_seq_len, 2048);
  EXPECT_FALSE(args.enable_weight_tying);

  config["model_type"] = "qwen3";
  config["num_key_value_heads"] = 8;
  const model::ModelArgs qwen3 = read(config, model::qwen3_train_spec());
  EXPECT_EQ(qwen3.head_dim(), 128);
  EXPECT_EQ(qwen3.max_seq_len, 32768);
  EXPECT_TRUE(qwen3.qk_norm);
}

TEST_F(HfConfig, RopeIsReadInEverySpelling) {
  Json config = llama_config();
  config["rope_scaling"] = nullptr;
  EXPECT_EQ(read(config).rope_scaling.kind, Kind::kNone);
  config["rope_scaling"] = {{"type", "linear"}, {"factor", 2}};
  EXPECT_EQ(read(config).rope_scaling.kind, Kind::kLinear);
  EXPECT_EQ(read(config).rope_scaling.factor, 2.0);
  config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 12345.0}};
  EXPECT_EQ(read(config).rope_scaling.kind, Kind::kNone) << "the newer key wins";
  EXPECT_EQ(read(config).rope_theta, 12345.0);
}

TEST_F(HfConfig, WhatIsNotKnownIsRefusedByKey) {
  refused("attention_bias", true, "attention_bias is true");
  refused("mlp_bias", true, "mlp_bias is true");
  refused("use_sliding_window", true, "use_sliding_window is true");
  refused("hidden_act", "gelu", "hidden_act is \"gelu\"");
  refused("attention_dropout", 0.1, "attention_dropout is 0.1");
  refused("partial_rotary_factor", 0.5, "partial_rotary_factor is 0.5");
  refused("quantization_config", {{"bits", 4}}, "quantization_config");
  refused("layer_types", {"full_attention", "sliding_attention"}, "layer_types");
  refused("architectures", {"LlamaForSequenceClassification"}, "LlamaForSequenceClassification");
  refused("model_type", "mistral", "model_type is \"mistral\", model.name is llama3");
  for (const char* type : {"dynamic", "yarn", "longrope"})
    refused("rope_scaling", {{"rope_type", type}, {"factor", 2.0}},
            "'" + std::string(type) + "'; known are default, linear and llama3");
  refused("rope_scaling", {{"rope_type", "llama3"}, {"factor", 2.0}}, "low_freq_factor is absent");
  refused("rope_parameters", {{"full_attention", {{"rope_type", "default"}}}},
          "all layers turn alike");
  test::expect_error(ExitStatus::kData, {"model_type", "qwen3"},
                     [&] { read(llama_config(), model::qwen3_train_spec()); });
}

TEST_F(HfConfig, BadValuesNameTheKeyAndWhatWasFound) {
  refused("hidden_size", "2048", "hidden_size is \"2048\"");
  refused("hidden_size", 0, "hidden_size is 0");
  refused("hidden_size", 1e30, "hidden_size is 1e+30");
  refused("num_hidden_layers", nullptr, "num_hidden_layers is null");
  refused("vocab_size", -3, "vocab_size is -3");
  refused("rms_norm_eps", -1.0, "rms_norm_eps is -1.0");
  refused("tie_word_embeddings", "yes", "tie_word_embeddings is \"yes\"");
  refused("rope_scaling", 3, "rope_scaling is 3");
  refused("num_key_value_heads", 5, "no model can be made of it");
  Json config = llama_config();
  config.erase("intermediate_size");
  test::expect_error(ExitStatus::kData, {"intermediate_size is absent"}, [&] { read(config); });
  for (const char* text : {"", "[]", "{\"model_type\": ", "3"})
    test::expect_error(ExitStatus::kData, {"no JSON object", "config.json"},
                       [&] { read_hf_config(write(text), model::llama3_train_spec()); });
  test::expect_error(ExitStatus::kData, {"config.json"}, [&] {
    read_hf_config(scratch_.path() / "nothing" / "config.json", model::llama3_train_spec());
  });
}

TEST_F(HfConfig, DeepNestingIsRefused) {
  const std::string deep(1000000, '[');
  test::expect_error(ExitStatus::kData, {"nested more than 16 levels", "config.json"}, [&] {
    read_hf_config(write("{\"hidden_size\": " + deep + "}"), model::llama3_train_spec());
  });
}

TEST_F(HfConfig, WhatIsWrittenReadsBack) {
  for (const model::TrainSpec& spec : {model::llama3_train_spec(), model::qwen3_train_spec()})
    for (const model::Flavor& flavor : spec.flavors) {
      const std::string text = hf_config_text(flavor.args, spec, "bfloat16", "");
      const model::ModelArgs back = read_hf_config(write(text), spec);
      EXPECT_EQ(model::effective_args(back), model::effective_args(flavor.args))
          << spec.name << " " << flavor.name;
      EXPECT_EQ(back.max_seq_len, flavor.args.max_seq_len);
    }
  model::ModelArgs args = model::llama3_train_spec().flavor("8B");
  args.rope_scaling = {.kind = Kind::kLinear, .factor = 2.0};
  EXPECT_EQ(model::effective_args(read_hf_config(
                write(hf_config_text(args, model::llama3_train_spec(), "float32", "")),
                model::llama3_train_spec())),
            model::effective_args(args));
}

TEST_F(HfConfig, KeysOfTheBaseStay) {
  const auto spec = model::llama3_train_spec();
  Json base = llama_config();
  base["layer_types"] = {"full_attention"};
  const Json written =
      Json::parse(hf_config_text(spec.flavor("debugmodel"), spec, "float16", base.dump()));
  EXPECT_EQ(written["bos_token_id"], 128000);
  EXPECT_EQ(written["hidden_size"], 256);
  EXPECT_EQ(written["dtype"], "float16");
  EXPECT_EQ(written["torch_dtype"], "float16");
  EXPECT_EQ(written["tie_word_embeddings"], false);
  EXPECT_FALSE(written.contains("layer_types"));
}

TEST_F(HfConfig, AModelWithoutSuchAFormIsRefused) {
  const auto spec = model::llama3_train_spec();
  model::ModelArgs args = spec.flavor("debugmodel");
  args.qk_norm = true;
  test::expect_error(ExitStatus::kUsage, {"qk_norm is true", "LlamaForCausalLM has no norms"},
                     [&] { hf_config_text(args, spec, "float32", ""); });
}

}  // namespace
}  // namespace titan::checkpoint
