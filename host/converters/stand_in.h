/// What runs on meta tensors in place of a plugin's code, which needs values.
#pragma once

#include <ATen/core/TensorBody.h>

#include <vector>

#include "converters/c_call.h"
#include "converters/plugin_module.h"

namespace titan::converters {

/// The arguments of a call in a fixed order: inputs, (the module's output), parameters, buffers.
/// Inputs come in the compute type (the module tree saw to that); parameters are brought to it
/// here.
std::vector<CallArgument> make_arguments(const BoundImpl& bound, const model::CallContext& context,
                                         const model::Inputs& inputs, const at::Tensor* output);

/// Holds what the converter said of the call's memory (titan_prediction): so much kept for
/// backward, so much at once, and `cache` from call to call; all of it counts as the converter's.
/// Where nothing was said, the module is taken to hold what the stock one does: gives an undefined
/// tensor, for its own forward to run, or holds as much, if a layout has taken its parameters.
at::Tensor stand_in_for_replacement(const BoundImpl& bound, model::Module& module,
                                    const model::CallContext& context, const model::Inputs& inputs,
                                    at::Tensor& cache);

/// The same for a wrap; `output`: the module's, null before it has run. Where nothing was said, it
/// is taken to keep its inputs (and that output), and nothing of its own.
at::Tensor stand_in_for_wrap(const BoundImpl& bound, const model::CallContext& context,
                             const model::Inputs& inputs, const at::Tensor* output,
                             at::Tensor& cache);

}  // namespace titan::converters
