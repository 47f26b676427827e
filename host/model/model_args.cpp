#include "model/model_args.h"

#include <cmath>
#include <string>

#include "base/error.h"
#include "base/numbers.h"

namespace titan::model {
namespace {

void require_args(bool holds, const std::string& key, const std::string& found,
                  const std::string& rule) {
  if (!holds)
    throw usage_error("model.args." + key + " is " + found, "model.args." + key,
                      "it must be " + rule);
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
  if (given_hidden_dim) return *given_hidden_dim;
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
  if (given_head_dim) require_positive(*given_head_dim, "head_dim");
  if (given_hidden_dim) require_positive(*given_hidden_dim, "hidden_dim");
  if (ffn_dim_multiplier) require_positive(*ffn_dim_multiplier, "ffn_dim_multiplier");
  require_positive(rope_scaling.factor, "rope_scaling_factor");
  require_positive(rope_scaling.low_freq_factor, "rope_low_freq_factor");
  require_positive(rope_scaling.original_max_position_embeddings,
                   "rope_original_max_position_embeddings");
  require_args(rope_scaling.high_freq_factor > rope_scaling.low_freq_factor,
               "rope_high_freq_factor", std::to_string(rope_scaling.high_freq_factor),
               "above model.args.rope_low_freq_factor (" +
                   std::to_string(rope_scaling.low_freq_factor) + ")");
  if (given_head_dim) {
    require_args(head_dim() % 2 == 0, "head_dim", std::to_string(head_dim()),
                 "even: rotary positions turn pairs");
  } else {
    require_args(dim % n_heads == 0, "dim", std::to_string(dim),
                 "a multiple of model.args.n_heads (" + std::to_string(n_heads) +
                     "), unless model.args.head_dim is given");
    require_args(head_dim() % 2 == 0, "dim", std::to_string(dim),
                 "such that dim / n_heads (" + std::to_string(head_dim()) +
                     ") is even: rotary positions turn pairs");
  }
  require_args(n_heads % kv_heads() == 0, "n_kv_heads", std::to_string(kv_heads()),
               "a divisor of model.args.n_heads (" + std::to_string(n_heads) + ")");
  require_args(ffn_hidden_dim() > 0, "ffn_dim_multiplier", "so small that nothing is left",
               "large enough for a feed-forward width of at least 1");
}

std::map<std::string, std::string> effective_args(const ModelArgs& args) {
  std::map<std::string, std::string> text = {
      {"dim", std::to_string(args.dim)},
      {"n_layers", std::to_string(args.n_layers)},
      {"n_heads", std::to_string(args.n_heads)},
      {"n_kv_heads", std::to_string(args.kv_heads())},
      {"head_dim", std::to_string(args.head_dim())},
      {"vocab_size", std::to_string(args.vocab_size)},
      {"hidden_dim", std::to_string(args.ffn_hidden_dim())},
      {"norm_eps", shortest_float(args.norm_eps)},
      {"rope_theta", shortest_float(args.rope_theta)},
      {"qk_norm", args.qk_norm ? "true" : "false"},
      {"enable_weight_tying", args.enable_weight_tying ? "true" : "false"}};
  const RopeScaling& scaling = args.rope_scaling;
  const bool scaled = scaling.kind != RopeScaling::Kind::kNone && scaling.factor != 1.0;
  const bool by_bands = scaling.kind == RopeScaling::Kind::kLlama3;
  text["rope_scaling_type"] = !scaled ? "default" : by_bands ? "llama3" : "linear";
  if (scaled) text["rope_scaling_factor"] = shortest_float(scaling.factor);
  if (scaled && by_bands) {
    text["rope_low_freq_factor"] = shortest_float(scaling.low_freq_factor);
    text["rope_high_freq_factor"] = shortest_float(scaling.high_freq_factor);
    text["rope_original_max_position_embeddings"] =
        std::to_string(scaling.original_max_position_embeddings);
  }
  return text;
}

namespace {

/// Parameters of a model whose head is not tied, without its embedding table.
int64_t multiplied_parameters(const ModelArgs& args) {
  const int64_t q_dim = args.n_heads * args.head_dim(), kv_dim = args.kv_heads() * args.head_dim();
  const int64_t attention =
      2 * args.dim * q_dim + 2 * args.dim * kv_dim + (args.qk_norm ? 2 * args.head_dim() : 0);
  const int64_t feed_forward = 3 * args.dim * args.ffn_hidden_dim();
  const int64_t norms = 2 * args.dim;
  return args.n_layers * (attention + feed_forward + norms) + args.dim + args.vocab_size * args.dim;
}

}  // namespace

int64_t parameter_count(const ModelArgs& args) {
  return multiplied_parameters(args) + (args.enable_weight_tying ? 0 : args.vocab_size * args.dim);
}

int64_t flops_per_token(const ModelArgs& args, int64_t seq_len) {
  return 6 * multiplied_parameters(args) +
         12 * args.n_layers * args.n_heads * args.head_dim() * seq_len;
}

}  // namespace titan::model
