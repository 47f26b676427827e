#include "model/hf_names.h"

#include <array>
#include <charconv>
#include <utility>

#include "base/error.h"

namespace titan::model {
namespace {

using NamePair = std::pair<std::string_view, std::string_view>;  // native, HF

constexpr std::array<NamePair, 3> kTopNames = {{
    {"tok_embeddings.weight", "model.embed_tokens.weight"},
    {"norm.weight", "model.norm.weight"},
    {"output.weight", "lm_head.weight"},
}};

/// After "layers.N." and "model.layers.N.".
constexpr std::array<NamePair, 11> kLayerNames = {{
    {"attention.wq.weight", "self_attn.q_proj.weight"},
    {"attention.wk.weight", "self_attn.k_proj.weight"},
    {"attention.wv.weight", "self_attn.v_proj.weight"},
    {"attention.wo.weight", "self_attn.o_proj.weight"},
    {"attention.q_norm.weight", "self_attn.q_norm.weight"},
    {"attention.k_norm.weight", "self_attn.k_norm.weight"},
    {"feed_forward.w1.weight", "mlp.gate_proj.weight"},
    {"feed_forward.w2.weight", "mlp.down_proj.weight"},
    {"feed_forward.w3.weight", "mlp.up_proj.weight"},
    {"attention_norm.weight", "input_layernorm.weight"},
    {"ffn_norm.weight", "post_attention_layernorm.weight"},
}};

constexpr std::string_view kNativeLayers = "layers.";
constexpr std::string_view kHfLayers = "model.layers.";

struct LayerName {
  int64_t layer;
  std::string_view rest;
};

/// "layers.12.attention.wq.weight" with prefix "layers." is layer 12, "attention.wq.weight".
std::optional<LayerName> split_layer(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  const auto dot = name.find('.');
  if (dot == std::string_view::npos || dot == 0) return std::nullopt;
  int64_t layer = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + dot, layer);
  if (error != std::errc() || end != name.data() + dot || layer < 0) return std::nullopt;
  return LayerName{layer, name.substr(dot + 1)};
}

template <size_t N>
std::optional<std::string_view> counterpart(const std::array<NamePair, N>& pairs,
                                            std::string_view NamePair::*from,
                                            std::string_view NamePair::*to, std::string_view name) {
  for (const NamePair& pair : pairs)
    if (pair.*from == name) return pair.*to;
  return std::nullopt;
}

std::optional<std::string> translate(std::string_view name, std::string_view NamePair::*from,
                                     std::string_view NamePair::*to, std::string_view from_prefix,
                                     std::string_view to_prefix, int64_t n_layers) {
  if (const auto top = counterpart(kTopNames, from, to, name)) return std::string(*top);
  const auto layer = split_layer(name, from_prefix);
  if (!layer || layer->layer >= n_layers) return std::nullopt;
  const auto rest = counterpart(kLayerNames, from, to, layer->rest);
  if (!rest) return std::nullopt;
  return std::string(to_prefix) + std::to_string(layer->layer) + "." + std::string(*rest);
}

bool is_qk_norm(std::string_view name) {
  return name.ends_with(".q_norm.weight") || name.ends_with(".k_norm.weight");
}

at::Tensor regroup(const at::Tensor& weight, int64_t heads, bool to_hf) {
  if (weight.dim() < 1 || weight.dim() > 2 || heads <= 0 || weight.size(0) % (2 * heads) != 0)
    throw data_error("a weight of " + std::to_string(weight.dim()) + " dimensions and " +
                         std::to_string(weight.dim() > 0 ? weight.size(0) : 0) +
                         " rows cannot be cut into " + std::to_string(heads) + " heads of pairs",
                     "rotary rows of wq, wk and their norms",
                     "check that the checkpoint fits model.flavor");
  const int64_t half = weight.size(0) / heads / 2, in = weight.dim() == 2 ? weight.size(1) : 1;
  const at::Tensor grouped =
      to_hf ? weight.reshape({heads, half, 2, in}) : weight.reshape({heads, 2, half, in});
  return grouped.transpose(1, 2).reshape(weight.sizes());
}

}  // namespace

at::Tensor rope_rows_to_hf(const at::Tensor& weight, int64_t heads) {
  return regroup(weight, heads, true);
}

at::Tensor rope_rows_to_native(const at::Tensor& weight, int64_t heads) {
  return regroup(weight, heads, false);
}

std::optional<std::string> LlamaHfNaming::to_hf(std::string_view native) const {
  if (!args_.qk_norm && is_qk_norm(native)) return std::nullopt;
  return translate(native, &NamePair::first, &NamePair::second, kNativeLayers, kHfLayers,
                   args_.n_layers);
}

std::optional<std::string> LlamaHfNaming::to_native(std::string_view hf) const {
  if (!args_.qk_norm && is_qk_norm(hf)) return std::nullopt;
  return translate(hf, &NamePair::second, &NamePair::first, kHfLayers, kNativeLayers,
                   args_.n_layers);
}

bool LlamaHfNaming::ignored(std::string_view hf) const {
  return hf.ends_with("rotary_emb.inv_freq");
}

int64_t LlamaHfNaming::permuted_heads(std::string_view native) const {
  const auto layer = split_layer(native, kNativeLayers);
  if (!layer) return 0;
  if (layer->rest == "attention.wq.weight") return args_.n_heads;
  if (layer->rest == "attention.wk.weight") return args_.kv_heads();
  if (is_qk_norm(layer->rest)) return 1;  // one weight for all heads
  return 0;
}

at::Tensor LlamaHfNaming::value_to_hf(std::string_view native, const at::Tensor& value) const {
  const int64_t heads = permuted_heads(native);
  return heads ? rope_rows_to_hf(value, heads) : value;
}

at::Tensor LlamaHfNaming::value_to_native(std::string_view native, const at::Tensor& value) const {
  const int64_t heads = permuted_heads(native);
  return heads ? rope_rows_to_native(value, heads) : value;
}

}  // namespace titan::model
