/// What a module's output must look like, from its kind and its inputs.
#pragma once

#include <ATen/core/TensorBody.h>

#include <string>
#include <vector>

#include "converters/plugin_module.h"

namespace titan::converters {

struct ExpectedTensor {
  std::vector<int64_t> shape;
  at::ScalarType dtype = at::kFloat;
  at::Device device = at::kCPU;
};

ExpectedTensor facts_of(const at::Tensor& tensor);
/// Shape, type and device of "y" for a module of this kind; see sdk/include/titan/model.h.
ExpectedTensor expected_output(const BoundImpl& bound, const model::Inputs& inputs);
/// "[2, 64, 256]"
std::string shape_text(at::IntArrayRef shape);

}  // namespace titan::converters
