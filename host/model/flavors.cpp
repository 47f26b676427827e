#include "model/flavors.h"

namespace titan::model {
namespace {

/// What all sizes of Qwen3 share.
ModelArgs qwen3_args(int64_t dim, int64_t n_layers, int64_t n_heads, int64_t hidden_dim,
                     bool tied) {
  ModelArgs args;
  args.dim = dim;
  args.n_layers = n_layers;
  args.n_heads = n_heads;
  args.n_kv_heads = 8;
  args.given_head_dim = 128;
  args.vocab_size = 151936;
  args.given_hidden_dim = hidden_dim;
  args.norm_eps = 1e-6;
  args.rope_theta = 1e6;
  args.rope_scaling.kind = RopeScaling::Kind::kNone;
  args.max_seq_len = 40960;
  args.qk_norm = true;
  args.enable_weight_tying = tied;
  return args;
}

/// Small, and still with a head width that does not follow from dim.
ModelArgs qwen3_debug_args() {
  ModelArgs args = qwen3_args(256, 6, 8, 768, true);
  args.n_kv_heads = 4;
  args.given_head_dim = 64;
  args.vocab_size = 2048;
  args.max_seq_len = 4096;
  return args;
}

}  // namespace

std::vector<Flavor> llama3_flavors() {
  return {
      {"debugmodel",
       {.dim = 256, .n_layers = 6, .n_heads = 16, .vocab_size = 2048, .multiple_of = 256}},
      {"8B",
       {.dim = 4096,
        .n_layers = 32,
        .n_heads = 32,
        .n_kv_heads = 8,
        .multiple_of = 1024,
        .ffn_dim_multiplier = 1.3}},
      {"70B",
       {.dim = 8192,
        .n_layers = 80,
        .n_heads = 64,
        .n_kv_heads = 8,
        .multiple_of = 4096,
        .ffn_dim_multiplier = 1.3}},
      {"405B",
       {.dim = 16384,
        .n_layers = 126,
        .n_heads = 128,
        .n_kv_heads = 8,
        .multiple_of = 4096,
        .ffn_dim_multiplier = 1.2}},
  };
}

std::vector<Flavor> qwen3_flavors() {
  return {
      {"debugmodel", qwen3_debug_args()},
      {"0.6B", qwen3_args(1024, 28, 16, 3072, true)},
      {"1.7B", qwen3_args(2048, 28, 16, 6144, true)},
      {"4B", qwen3_args(2560, 36, 32, 9728, true)},
      {"8B", qwen3_args(4096, 36, 32, 12288, false)},
      {"14B", qwen3_args(5120, 40, 40, 17408, false)},
      {"32B", qwen3_args(5120, 64, 64, 25600, false)},
  };
}

}  // namespace titan::model
