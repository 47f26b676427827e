/// Low-rank adapters folded into the weights that they sit on.
#pragma once

#include <ATen/core/TensorBody.h>

#include <map>
#include <string>
#include <vector>

#include "checkpoint/weight_files.h"

namespace titan::checkpoint {

/// y = W x + scale * B A x (arXiv:2106.09685): A is [rank, in], B is [out, rank].
struct LowRankAdapter {
  std::string instance;  ///< the converter's name in the run
  std::string a, b;      ///< names in the files
  double scale = 0;      ///< alpha / rank
};

struct AddedState {
  /// By the stock weight that each is on; several add up.
  std::map<std::string, std::vector<LowRankAdapter>> adapters;
  /// Names of everything else that converters added.
  std::vector<std::string> others;
};

/// Sorts what converters added to the files. Adapters are told by their names and shapes: pairs
/// "<instance>/<module>.lora_a" and ".lora_b", as the lora example names them, over
/// "<module>.weight" [out, in]. Their alpha is the setting "<instance>.alpha" of the run, without
/// which they are among the others.
AddedState added_state(const WeightFiles& files,
                       const std::map<std::string, std::string>& settings);

/// W + sum of scale * B A, computed and given in float32 (float64 for a float64 W).
at::Tensor merged_weight(const at::Tensor& weight, const std::vector<LowRankAdapter>& adapters,
                         const WeightFiles& files);

}  // namespace titan::checkpoint
