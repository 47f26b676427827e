/// What a plugin's forward and backward gave back, checked before anything else sees it.
#pragma once

#include <ATen/core/TensorBody.h>

#include <string>

#include "converters/c_call.h"
#include "converters/output_shape.h"

namespace titan::converters {

/// Throws a plugin error (exit status 6): "`what` in module '...'", with plugin and instance.
[[noreturn]] void blame(const BoundImpl& bound, const std::string& what, const std::string& hint);

/// Whether every number of `tensor` is finite; also if it is undefined or holds no such numbers.
bool all_finite(const at::Tensor& tensor);

/// The output that forward set must be `expected`; with context.find_nonfinite also finite if all
/// arguments are. Leaves it contiguous. Throws as blame().
void check_output(titan_call& call, const ExpectedTensor& expected);

/// The gradient that goes on through the graph for argument `index`, contiguous and in the type of
/// that argument's place there: a parameter's own, whatever type the plugin set. `expected` is the
/// tensor that the plugin was given. Undefined if none is needed, if it was left out where that is
/// allowed, or if the plugin has added it to the parameter's sum. The call no longer holds it: a
/// module may have many. Throws as blame().
at::Tensor take_gradient(titan_call& call, size_t index, const ExpectedTensor& expected);

}  // namespace titan::converters
