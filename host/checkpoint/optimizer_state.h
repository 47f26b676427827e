/// The state of the optimizer as tensors by name: "<parameter>.exp_avg", ".exp_avg_sq", ".step".
#pragma once

#include <ATen/core/TensorBody.h>

#include <map>
#include <set>
#include <string>

#include "checkpoint/safetensors.h"
#include "optim/adamw.h"

namespace titan::checkpoint {

/// The live tensors: they change with the next step. Of a parameter that holds stock parameters in
/// another layout they are those of the stock parameters, in their shapes.
std::map<std::string, at::Tensor> optimizer_tensors(const optim::Optimizer& optimizer);

/// Copies every state from the file. `fresh`: parameters that the checkpoint did not hold; they
/// keep zeros. Throws one data error that lists every name, shape or type that does not fit, before
/// anything changes.
void load_optimizer(optim::Optimizer& optimizer, const SafetensorsReader& file,
                    const std::set<std::string>& fresh);

}  // namespace titan::checkpoint
