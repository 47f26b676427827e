#include "model/flavors.h"

namespace titan::model {

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

}  // namespace titan::model
