#include "model/recompute.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "model/op_tape.h"
#include "model/random_scope.h"

namespace titan::model {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What the second forward needs to know about the first, beside the inputs.
struct Region : torch::CustomClassHolder {
  Module* module = nullptr;
  CallContext context;
  std::vector<bool> given;  ///< which inputs are tensors; the others are undefined
  at::Device device = at::kCPU;
  RandomStates random;
  std::unique_ptr<OpTape> tape;  ///< null: every operator runs again
  at::Tensor first_output;       ///< only in step 1, for the check

  Inputs inputs_from(at::TensorList tensors) const {
    Inputs inputs(given.size());
    for (size_t i = 0, next = 0; i < given.size(); ++i)
      if (given[i]) inputs[i] = tensors[next++];
    return inputs;
  }
  at::Tensor run(const CallContext& call, at::TensorList tensors, OpTape::Mode mode) {
    std::optional<OpTape::Scope> scope;
    if (tape) scope.emplace(*tape, mode);
    return (*module)(call, inputs_from(tensors));
  }
};

void check_repeated(const Region& region, const at::Tensor& second) {
  if (region.tape && region.tape->size() != 0)
    throw plugin_error(
        "the second forward of '" + region.module->fqn() +
            "' called fewer operators than the first",
        "activation checkpointing, module '" + region.module->fqn() + "'",
        "a converter in it calls other operators in calls marked TITAN_CALL_RECOMPUTE; leave it "
        "out, or set --activation_checkpoint.selective_ac_option=1");
  if (!region.first_output.defined()) return;
  const at::NoGradGuard no_grad;
  const at::Tensor& first = region.first_output;
  const bool same_form =
      first.sizes() == second.sizes() && first.scalar_type() == second.scalar_type();
  // Not a number compares as equal here: the check of the loss reports it.
  if (same_form && !((second - first).abs().max() > first.abs().max() * 0.01).item<bool>()) return;
  throw plugin_error(
      "module '" + region.module->fqn() + "' gives another result when its forward is repeated",
      "activation checkpointing, module '" + region.module->fqn() + "'",
      "a converter in it changes its state or draws random numbers of its own in a call marked "
      "TITAN_CALL_RECOMPUTE; leave it out, or set --activation_checkpoint.mode=none");
}

/// Why the first argument: without an input that requires a gradient the node would not be part of
/// the graph, and the parameters inside would get nothing, in silence.
class RecomputeFunction : public torch::autograd::Function<RecomputeFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& /*carrier*/,
                            at::TensorList tensors, const c10::intrusive_ptr<Region>& region) {
    region->random = RandomStates::current(region->device);
    at::Tensor output = region->run(region->context, tensors, OpTape::Mode::kRecord);
    // An output that is an input would make autograd treat it as changed in place.
    for (const at::Tensor& tensor : tensors)
      if (output.is_same(tensor)) output = output.alias();
    // Without its place in the graph: the region must not own the node that owns it.
    if (region->context.step <= 1) region->first_output = output.detach();
    context->save_for_backward(tensors.vec());
    context->saved_data["region"] = c10::IValue::make_capsule(region);
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    if (at::GradMode::is_enabled())
      throw internal_error("a recomputed block has no second derivative (create_graph)");
    const auto capsule = context->saved_data["region"].toCapsule();
    Region& region = *static_cast<Region*>(capsule.get());
    variable_list inputs;
    for (const at::Tensor& saved : context->get_saved_variables())
      inputs.push_back(saved.detach().requires_grad_(saved.requires_grad()));

    CallContext call = region.context;
    call.recompute = true;
    at::Tensor output;
    {
      const RandomScope random(region.device, region.random);
      const at::AutoGradMode with_gradients(true);
      output = region.run(call, inputs, OpTape::Mode::kReplay);
    }
    check_repeated(region, output);
    region.first_output.reset();
    // Parameters take their gradients here; those of the inputs go on through the outer graph.
    if (output.requires_grad()) torch::autograd::backward({output}, {grads[0]});
    variable_list result = {at::Tensor()};
    for (const at::Tensor& input : inputs) result.push_back(input.grad());
    result.emplace_back();
    return result;
  }
};

bool any_requires_grad(Module& module, const Inputs& inputs) {
  bool required = false;
  for (const at::Tensor& input : inputs) required |= input.defined() && input.requires_grad();
  if (required) return true;
  visit_modules(module, [&](Module& below) {
    for (const OwnParameter& own : below.parameters())
      required |= own.parameter->tensor.requires_grad();
  });
  return required;
}

}  // namespace

int64_t mark_blocks_for_recompute(Module& root, Recompute recompute, int64_t every) {
  int64_t blocks = 0, marked = 0;
  visit_modules(root, [&](Module& module) {
    if (module.kind() != "block") return;
    const bool mark = recompute != Recompute::kNothing && ++blocks % every == 0;
    module.set_recompute(mark ? recompute : Recompute::kNothing);
    marked += mark;
  });
  return marked;
}

bool starts_recompute_region(const CallContext& context) {
  return at::GradMode::is_enabled() && !context.recompute;
}

at::Tensor run_recompute_region(Module& module, Recompute recompute, const CallContext& context,
                                const Inputs& inputs) {
  if (!any_requires_grad(module, inputs)) {
    const at::NoGradGuard nothing_to_differentiate;
    return module(context, inputs);
  }
  auto region = c10::make_intrusive<Region>();
  region->module = &module;
  region->context = context;
  if (recompute == Recompute::kAllButOps) region->tape = std::make_unique<OpTape>();
  variable_list tensors;
  for (const at::Tensor& input : inputs) {
    region->given.push_back(input.defined());
    if (input.defined()) tensors.push_back(input);
  }
  region->device = tensors.at(0).device();
  const at::Tensor carrier =
      at::empty({0}, at::TensorOptions().device(region->device).dtype(at::kFloat)).requires_grad_();
  return RecomputeFunction::apply(carrier, at::TensorList(tensors), region);
}

}  // namespace titan::model
