/// The sizes of Llama 3 that come with the program.
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

}  // namespace titan::model
