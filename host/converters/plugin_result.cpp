#include "converters/plugin_result.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "base/error.h"

namespace titan::converters {
namespace {

/// The gradient of a parameter may come in the type of the call or in the parameter's own.
void check_gradient(const titan_call& call, const CallArgument& argument,
                    const ExpectedTensor& expected) {
  const BoundImpl& bound = *call.bound;
  const at::Tensor& grad = argument.grad;
  const std::string name = "'" + std::string(argument.name) + "'";
  if (!grad.defined())
    blame(bound, "backward set no gradient for " + name,
          "set one for every argument for which call_needs_grad says yes");
  if (grad.sizes() != at::IntArrayRef(expected.shape))
    blame(bound,
          "backward set a gradient of shape " + shape_text(grad.sizes()) + " for " + name +
              " of shape " + shape_text(expected.shape),
          "a gradient has the shape of its argument");
  const at::ScalarType own =
      argument.parameter ? argument.parameter->tensor.scalar_type() : expected.dtype;
  if ((grad.scalar_type() != expected.dtype && grad.scalar_type() != own) ||
      grad.device() != expected.device)
    blame(bound,
          std::string("backward set a gradient of type ") + c10::toString(grad.scalar_type()) +
              " on " + grad.device().str() + " for " + name + ", expected " +
              c10::toString(expected.dtype) +
              (own == expected.dtype ? "" : std::string(" or ") + c10::toString(own)) + " on " +
              expected.device.str(),
          "a gradient has the type and device of its argument, or the type that its parameter is "
          "kept in");
}

/// Whether backward made something that is not finite: a sum that was not so before is not its
/// doing.
bool spoiled(const CallArgument& argument) {
  return argument.accumulated ? argument.accumulator_was_finite && !all_finite(argument.accumulator)
                              : !all_finite(argument.grad);
}

}  // namespace

void blame(const BoundImpl& bound, const std::string& what, const std::string& hint) {
  throw plugin_error(what + " in module '" + bound.fqn + "'", bound.origin.text(), hint);
}

bool all_finite(const at::Tensor& tensor) {
  const c10::NoGradGuard no_grad;
  return !tensor.defined() || !at::isFloatingType(tensor.scalar_type()) ||
         tensor.element_size() < 2 || at::isfinite(tensor).all().item<bool>();
}

void check_output(titan_call& call, const ExpectedTensor& expected) {
  const BoundImpl& bound = *call.bound;
  const std::string name = "'" + std::string(call.output_name) + "'";
  if (!call.output.defined())
    blame(bound, "forward returned without setting " + name, "call_set must be called in forward");
  if (call.output.sizes() != at::IntArrayRef(expected.shape))
    blame(bound,
          "forward set " + name + " with shape " + shape_text(call.output.sizes()) + ", expected " +
              shape_text(expected.shape),
          "the plugin must keep the shape that the module's kind promises");
  if (call.output.scalar_type() != expected.dtype)
    blame(bound,
          std::string("forward set ") + name + " with type " +
              c10::toString(call.output.scalar_type()) + ", expected " +
              c10::toString(expected.dtype),
          "the output has the compute type of the inputs");
  if (call.output.device() != expected.device)
    blame(bound,
          "forward set " + name + " on " + call.output.device().str() + ", expected " +
              expected.device.str(),
          "make outputs on the device of the inputs");
  const auto given_finite = [&] {
    return std::all_of(call.arguments.begin(), call.arguments.end(),
                       [](const CallArgument& argument) { return all_finite(argument.tensor); });
  };
  if (call.context.find_nonfinite && !all_finite(call.output) && given_finite())
    blame(bound, "forward set " + name + " that is not finite, although everything it was given is",
          "leave the plugin out, or report this to its author");
  // What comes after may rely on it; strides of 0 for one are legal and no kernel takes them.
  call.output = call.output.contiguous();
}

at::Tensor take_gradient(titan_call& call, size_t index, const ExpectedTensor& expected) {
  CallArgument& argument = call.arguments[index];
  if (argument.needs_grad && !argument.accumulated &&
      (argument.grad.defined() || !argument.may_lack_grad))
    check_gradient(call, argument, expected);
  if (call.context.find_nonfinite && spoiled(argument) && all_finite(call.grad_output) &&
      std::all_of(call.saved.begin(), call.saved.end(), all_finite))
    blame(*call.bound,
          "backward set a gradient for '" + std::string(argument.name) +
              "' that is not finite, although everything it was given is",
          "leave the plugin out, or report this to its author");
  if (!argument.needs_grad || !argument.grad.defined()) return {};
  const at::Tensor grad = std::move(argument.grad).contiguous();
  // Added up in the parameter's type, over micro-batches and over the modules that share it.
  return argument.parameter ? grad.to(argument.parameter->tensor.scalar_type()) : grad;
}

}  // namespace titan::converters
