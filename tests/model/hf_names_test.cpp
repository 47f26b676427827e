/// Hugging Face names and row order, against weights exported by another program.
#include "model/hf_names.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <set>

#include "golden/golden_data.h"
#include "support/expect_error.h"

namespace titan::model {
namespace {

TEST(HfNames, EveryExportedWeightIsTheNativeOneAndBack) {
  const test::GoldenFolder golden("llama");
  const LlamaHfNaming naming(golden.model_args());
  const auto native = golden.tensors("weights_native.safetensors");
  const auto hf = golden.tensors("weights_hf.safetensors");
  ASSERT_EQ(native.size(), hf.size());
  int64_t moved = 0;
  for (const auto& [name, value] : native) {
    const auto hf_name = naming.to_hf(name);
    ASSERT_TRUE(hf_name) << name;
    ASSERT_TRUE(hf.count(*hf_name)) << *hf_name;
    EXPECT_EQ(naming.to_native(*hf_name), name);
    EXPECT_TRUE(at::equal(naming.value_to_hf(name, value), hf.at(*hf_name))) << name;
    EXPECT_TRUE(at::equal(naming.value_to_native(name, hf.at(*hf_name)), value)) << name;
    moved += !at::equal(value, hf.at(*hf_name));
  }
  EXPECT_EQ(moved, 2 * golden.model_args().n_layers) << "wq and wk of every layer";
}

TEST(HfNames, RowsOfAHeadAreEvensThenOdds) {
  const at::Tensor rows = at::arange(32, at::kFloat).view({32, 1});
  const at::Tensor hf = rope_rows_to_hf(rows, 2).view({32});
  for (int64_t head = 0; head < 2; ++head)
    for (int64_t i = 0; i < 16; ++i)
      EXPECT_EQ(hf[head * 16 + i].item<int64_t>(), head * 16 + (i < 8 ? 2 * i : 2 * (i - 8) + 1));
  EXPECT_TRUE(at::equal(rope_rows_to_native(rope_rows_to_hf(rows, 2), 2), rows));
  const at::Tensor meta = at::empty({32, 3}, at::TensorOptions().device(at::kMeta));
  EXPECT_EQ(rope_rows_to_native(meta, 2).sizes(), meta.sizes());
}

TEST(HfNames, OtherNamesAreNotOfThisModel) {
  const LlamaHfNaming naming(ModelArgs{.n_layers = 2});
  for (const char* name :
       {"model.layers.2.self_attn.q_proj.weight", "model.layers.-1.self_attn.q_proj.weight",
        "model.layers.0x.self_attn.q_proj.weight", "model.layers..self_attn.q_proj.weight",
        "model.layers.0.self_attn.q_proj.bias", "model.layers.0", "output.weight", ""})
    EXPECT_EQ(naming.to_native(name), std::nullopt) << name;
  for (const char* name :
       {"layers.2.ffn_norm.weight", "lora/layers.0.attention.wq.a", "lm_head.weight"})
    EXPECT_EQ(naming.to_hf(name), std::nullopt) << name;
  EXPECT_TRUE(naming.ignored("model.layers.0.self_attn.rotary_emb.inv_freq"));
  EXPECT_FALSE(naming.ignored("model.layers.0.self_attn.q_proj.weight"));
}

TEST(HfNames, NormsOfHeadsAreReorderedLikeTheirRows) {
  ModelArgs args{.dim = 16, .n_layers = 2, .n_heads = 4, .n_kv_heads = 2, .vocab_size = 8};
  const std::string native = "layers.1.attention.k_norm.weight",
                    hf = "model.layers.1.self_attn.k_norm.weight";
  EXPECT_EQ(LlamaHfNaming(args).to_hf(native), std::nullopt) << "a Llama has none";
  EXPECT_EQ(LlamaHfNaming(args).to_native(hf), std::nullopt);
  args.qk_norm = true;
  const LlamaHfNaming naming(args);
  EXPECT_EQ(naming.to_hf(native), hf);
  EXPECT_EQ(naming.to_native(hf), native);
  const at::Tensor weight = at::arange(6, at::kFloat);
  const at::Tensor there = naming.value_to_hf(native, weight);
  EXPECT_TRUE(at::equal(there, at::tensor({0.f, 2.f, 4.f, 1.f, 3.f, 5.f})));
  EXPECT_TRUE(at::equal(naming.value_to_native(native, there), weight));
}

TEST(HfNames, RowsThatAreNoHeadsAreRefused) {
  test::expect_error(ExitStatus::kData, {"30 rows", "4 heads", "model.flavor"}, [] {
    rope_rows_to_native(at::zeros({30, 8}), 4);
  });
  test::expect_error(ExitStatus::kData, {"3 dimensions"}, [] {
    rope_rows_to_hf(at::zeros({32, 2, 2}), 4);
  });
}

}  // namespace
}  // namespace titan::model
