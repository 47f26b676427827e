#include "model/model_args.h"

#include <cmath>
#include <string>

#include "base/error.h"

namespace titan::model {
namespace {

void require_args(bool holds, const std::string& key, const std::string& found,
                  const std::string& rule) {
  if (!holds)
    throw usage_error("model.args." + key + " is " + found, "model.args." + key, "it must be " + rule);
}

void require_positive(int64_t value, const std::string& key) {
  require_args(value > 0, key, std::to_string(value), "at least 1");
}

void require_positive(double value, const std::string& key) {
  require_args(value > 0.0 && std::isfinite(value), key, std::to_string(value),
               "a finite number above 0");
}

}  // namespace

int64_t ModelArgs::ffn_hidden_dim() const {
  auto hidden = static_cast<int64_t>(2.0 * static_cast<double>(4 * dim) / 3.0);
  if (ffn_dim_multiplier)
    hidden = static_cast<int64_t>(*ffn_dim_multiplier * static_cast<double>(hidden));
  return (hidden + multiple_of - 1) / multiple_of * multiple_of;
}

void ModelArgs::validate() const {
  require_positive(dim, "dim");
  require_positive(n_layers, "n_layers");
  require_positive(n_heads, "n_heads");
  require_positive(kv_heads(), "n_kv_heads");
  require_positive(vocab_size, "vocab_size");
  require_positive(multiple_of, "multiple_of");
  require_positive(max_seq_len, "max_seq_len");
  require_positive(norm_eps, "norm_eps");
  require_positive(rope_theta, "rope_theta");
  if (ffn_dim_multiplier) require_positive(*ffn_dim_multiplier, "ffn_dim_multiplier");
  require_positive(rope_scaling.factor, "rope_scaling_factor");
  require_positive(rope_scaling.low_freq_factor, "rope_low_freq_factor");
  require_positive(rope_scaling.original_max_position_embeddings,
                   "rope_original_max_position_embeddings");
  require_args(rope_scaling.high_freq_factor > rope_scaling.low_freq_factor,
               "rope_high_freq_factor", std::to_string(rope_scaling.high_freq_factor),
               "above model.args.rope_low_freq_factor (" +
                   std::to_string(rope_scaling.low_freq_factor) + ")");
  require_args(dim % n_heads == 0, "dim", std::to_string(dim),
               "a multiple of model.args.n_heads (" + std::to_string(n_heads) + ")");
  require_args(head_dim() % 2 == 0, "dim", std::to_string(dim),
               "such that dim / n_heads (" + std::to_string(head_dim()) +
                   ") is even: rotary positions turn pairs");
  require_args(n_heads % kv_heads() == 0, "n_kv_heads", std::to_string(kv_heads()),
               "a divisor of model.args.n_heads (" + std::to_string(n_heads) + ")");
  require_args(ffn_hidden_dim() > 0, "ffn_dim_multiplier", "so small that nothing is left",
               "large enough for a feed-forward width of at least 1");
}

int64_t parameter_count(const ModelArgs& args) {
  const int64_t kv_dim = args.kv_heads() * args.head_dim();
  const int64_t attention = 2 * args.dim * args.dim + 2 * args.dim * kv_dim;
  const int64_t feed_forward = 3 * args.dim * args.ffn_hidden_dim();
  const int64_t norms = 2 * args.dim;
  return args.n_layers * (attention + feed_forward + norms) + args.dim +
         2 * args.vocab_size * args.dim;
}

int64_t flops_per_token(const ModelArgs& args, int64_t seq_len) {
  const int64_t multiplied = parameter_count(args) - args.vocab_size * args.dim;
  return 6 * multiplied + 12 * args.n_layers * args.n_heads * args.head_dim() * seq_len;
}

}  // namespace titan::model
