#include "train/model_args.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace titan::train {

namespace {

model::RopeScaling::Kind parse_scaling(const std::string& name) {
  using Kind = model::RopeScaling::Kind;
  if (name == "default") return Kind::kNone;
  return name == "linear" ? Kind::kLinear : Kind::kLlama3;
}

/// What the config gives takes the place of what `args` has.
void override_args(const config::ModelArgs& given, model::ModelArgs& args) {
  args.dim = given.dim.value_or(args.dim);
  args.n_layers = given.n_layers.value_or(args.n_layers);
  args.n_heads = given.n_heads.value_or(args.n_heads);
  if (given.n_kv_heads) args.n_kv_heads = given.n_kv_heads;
  if (given.head_dim) args.given_head_dim = given.head_dim;
  args.vocab_size = given.vocab_size.value_or(args.vocab_size);
  // Whoever changes what the width follows from wants it to follow.
  if (given.ffn_dim_multiplier || given.multiple_of) args.given_hidden_dim.reset();
  if (given.hidden_dim) args.given_hidden_dim = given.hidden_dim;
  if (given.ffn_dim_multiplier) args.ffn_dim_multiplier = given.ffn_dim_multiplier;
  args.multiple_of = given.multiple_of.value_or(args.multiple_of);
  args.norm_eps = given.norm_eps.value_or(args.norm_eps);
  args.rope_theta = given.rope_theta.value_or(args.rope_theta);
  model::RopeScaling& scaling = args.rope_scaling;
  if (given.rope_scaling_type) scaling.kind = parse_scaling(*given.rope_scaling_type);
  scaling.factor = given.rope_scaling_factor.value_or(scaling.factor);
  scaling.low_freq_factor = given.rope_low_freq_factor.value_or(scaling.low_freq_factor);
  scaling.high_freq_factor = given.rope_high_freq_factor.value_or(scaling.high_freq_factor);
  scaling.original_max_position_embeddings = given.rope_original_max_position_embeddings.value_or(
      scaling.original_max_position_embeddings);
  args.max_seq_len = given.max_seq_len.value_or(args.max_seq_len);
  args.qk_norm = given.qk_norm.value_or(args.qk_norm);
  args.enable_weight_tying = given.enable_weight_tying.value_or(args.enable_weight_tying);
}

}  // namespace

config::ModelArgs config_args(const model::ModelArgs& args) {
  using Kind = model::RopeScaling::Kind;
  const model::RopeScaling& scaling = args.rope_scaling;
  config::ModelArgs keys;
  keys.dim = args.dim;
  keys.n_layers = args.n_layers;
  keys.n_heads = args.n_heads;
  keys.n_kv_heads = args.kv_heads();
  keys.head_dim = args.head_dim();
  keys.vocab_size = args.vocab_size;
  keys.hidden_dim = args.ffn_hidden_dim();
  keys.norm_eps = args.norm_eps;
  keys.rope_theta = args.rope_theta;
  keys.rope_scaling_type = scaling.kind == Kind::kNone     ? "default"
                           : scaling.kind == Kind::kLinear ? "linear"
                                                           : "llama3";
  keys.rope_scaling_factor = scaling.factor;
  keys.rope_low_freq_factor = scaling.low_freq_factor;
  keys.rope_high_freq_factor = scaling.high_freq_factor;
  keys.rope_original_max_position_embeddings = scaling.original_max_position_embeddings;
  keys.max_seq_len = args.max_seq_len;
  keys.qk_norm = args.qk_norm;
  keys.enable_weight_tying = args.enable_weight_tying;
  return keys;
}

model::ModelArgs whole_model_args(const model::TrainSpec& spec, const config::Model& model) {
  model::ModelArgs args;
  if (model.flavor != kFlavorFromHf)
    args = spec.flavor(model.flavor);
  else if (!model.args.dim || !model.args.n_layers || !model.args.vocab_size)
    throw usage_error("model.flavor is from_hf, but no config.json was read", "model.flavor",
                      "set model.hf_assets_path to the folder of a Hugging Face model");
  override_args(model.args, args);
  args.validate();
  return args;
}

model::ModelArgs resolve_model_args(const model::TrainSpec& spec, const config::Config& config) {
  model::ModelArgs args = whole_model_args(spec, config.model);
  const auto require_room = [&](const char* key, int64_t seq_len) {
    if (seq_len > args.max_seq_len)
      throw usage_error(std::string(key) + " is " + std::to_string(seq_len) + ", model " +
                            spec.name + " takes at most " + std::to_string(args.max_seq_len),
                        key, "use shorter sequences, or raise model.args.max_seq_len");
  };
  int64_t longest = config.training.seq_len;
  require_room("training.seq_len", longest);
  if (config.validation.enable) {
    require_room("validation.seq_len", config.validation.seq_len);
    longest = std::max(longest, config.validation.seq_len);
  }
  args.max_seq_len = longest;
  return args;
}

}  // namespace titan::train
