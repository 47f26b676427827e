/// The sizes of each model family that come with the program.
#pragma once

#include <string>
#include <vector>

#include "model/model_args.h"

namespace titan::model {

struct Flavor {
  std::string name;
  ModelArgs args;
};

/// debugmodel, 8B, 70B, 405B.
std::vector<Flavor> llama3_flavors();

/// debugmodel, 0.6B, 1.7B, 4B, 8B, 14B, 32B: the dense models of Qwen3 (arXiv:2505.09388).
std::vector<Flavor> qwen3_flavors();

}  // namespace titan::model
