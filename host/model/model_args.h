/// The sizes that define a decoder of the Llama kind, and the numbers that follow from them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "model/rope.h"

namespace titan::model {

struct ModelArgs {
  int64_t dim = 4096;
  int64_t n_layers = 32;
  int64_t n_heads = 32;
  std::optional<int64_t> n_kv_heads = std::nullopt;  ///< as many as n_heads if not given
  /// Width of one head; dim / n_heads if not given.
  std::optional<int64_t> given_head_dim = std::nullopt;
  int64_t vocab_size = 128256;
  /// Width of the feed-forward part; if not given it follows from dim and the next two.
  std::optional<int64_t> given_hidden_dim = std::nullopt;
  int64_t multiple_of = 256;  ///< the feed-forward width is rounded up to a multiple of it
  std::optional<double> ffn_dim_multiplier = std::nullopt;
  double norm_eps = 1e-5;
  double rope_theta = 500000.0;
  RopeScaling rope_scaling = {};
  int64_t max_seq_len = 131072;
  /// Initial deviation of residual projections by the layer's own depth (else by n_layers).
  bool depth_init = true;
  /// RMSNorm over each head of q and k, before they are rotated (Qwen3).
  bool qk_norm = false;
  /// The output head is the embedding table.
  bool enable_weight_tying = false;

  int64_t kv_heads() const { return n_kv_heads.value_or(n_heads); }
  int64_t head_dim() const { return given_head_dim.value_or(dim / n_heads); }
  /// What is given, else round_up(int(multiplier * int(8 dim / 3)), multiple_of).
  int64_t ffn_hidden_dim() const;

  /// Throws a usage error that names the key and the rule if no model can be made of this.
  void validate() const;
};

/// What makes two models compute differently, as text under the names of the keys below model.args:
/// values in effect, not how they were given. Without max_seq_len, which only limits.
std::map<std::string, std::string> effective_args(const ModelArgs& args);

/// Parameters of the stock model, embedding table and output head included; a tied table counts
/// once.
int64_t parameter_count(const ModelArgs& args);

/// Floating-point operations of forward and backward per token: 6 for every parameter that
/// multiplies (all but the embedding table, which looks up; a tied table multiplies as the head),
/// and 12 * layers * heads * head_dim * seq_len for attention (no discount for the causal mask).
int64_t flops_per_token(const ModelArgs& args, int64_t seq_len);

}  // namespace titan::model
