#include "train/model_args.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace titan::train {

model::ModelArgs resolve_model_args(const model::TrainSpec& spec, const config::Config& config) {
  model::ModelArgs args = spec.flavor(config.model.flavor);
  const config::ModelArgs& given = config.model.args;
  args.dim = given.dim.value_or(args.dim);
  args.n_layers = given.n_layers.value_or(args.n_layers);
  args.n_heads = given.n_heads.value_or(args.n_heads);
  if (given.n_kv_heads) args.n_kv_heads = given.n_kv_heads;
  args.vocab_size = given.vocab_size.value_or(args.vocab_size);
  if (given.ffn_dim_multiplier) args.ffn_dim_multiplier = given.ffn_dim_multiplier;
  args.multiple_of = given.multiple_of.value_or(args.multiple_of);
  args.norm_eps = given.norm_eps.value_or(args.norm_eps);
  args.rope_theta = given.rope_theta.value_or(args.rope_theta);
  model::RopeScaling& scaling = args.rope_scaling;
  scaling.factor = given.rope_scaling_factor.value_or(scaling.factor);
  scaling.low_freq_factor = given.rope_low_freq_factor.value_or(scaling.low_freq_factor);
  scaling.high_freq_factor = given.rope_high_freq_factor.value_or(scaling.high_freq_factor);
  scaling.original_max_position_embeddings =
      given.rope_original_max_position_embeddings.value_or(scaling.original_max_position_embeddings);
  const auto require_room = [&](const char* key, int64_t seq_len) {
    if (seq_len > args.max_seq_len)
      throw usage_error(std::string(key) + " is " + std::to_string(seq_len) + ", model " + spec.name +
                            " takes at most " + std::to_string(args.max_seq_len),
                        key, "use shorter sequences");
  };
  int64_t longest = config.training.seq_len;
  require_room("training.seq_len", longest);
  if (config.validation.enable) {
    require_room("validation.seq_len", config.validation.seq_len);
    longest = std::max(longest, config.validation.seq_len);
  }
  args.max_seq_len = longest;
  args.validate();
  return args;
}

}  // namespace titan::train
