#include "converters/stand_in.h"

#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "converters/output_shape.h"
#include "model/allocation_meter.h"

namespace titan::converters {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What a call will hold, and the gradients that its backward makes.
struct StandInCall : torch::CustomClassHolder {
  PredictedMemory memory;  ///< of this call
  ExpectedTensor output;
  std::vector<CallArgument> arguments;  ///< without their tensors
  std::vector<ExpectedTensor> values;   ///< shape and type of each argument as the plugin gets it
};

at::Tensor converter_bytes(int64_t bytes) {
  const model::PurposeScope purpose(model::Purpose::kConverter);
  return at::empty({bytes}, at::TensorOptions().dtype(at::kByte).device(at::kMeta));
}

at::Tensor empty_like_facts(const ExpectedTensor& facts) {
  return at::empty(facts.shape, at::TensorOptions().dtype(facts.dtype).device(at::kMeta));
}

struct StandIn : torch::autograd::Function<StandIn> {
  /// `sources` is what gradients go to, as in a plugin's node: a parameter, not its narrower copy.
  static at::Tensor forward(AutogradContext* context, at::TensorList sources,
                            const c10::intrusive_ptr<StandInCall>& call) {
    at::Tensor output = empty_like_facts(call->output);
    const at::Tensor working = converter_bytes(call->memory.working);
    variable_list saved = {converter_bytes(call->memory.saved)};
    for (size_t i = 0; i < sources.size(); ++i) {
      const CallArgument& argument = call->arguments[i];
      const bool kept =
          argument.name == "y" ? call->memory.keeps_output : call->memory.keeps_inputs;
      if (argument.differentiable && !argument.parameter && kept) saved.push_back(sources[i]);
    }
    const bool has_y =
        std::any_of(call->arguments.begin(), call->arguments.end(),
                    [](const CallArgument& argument) { return argument.name == "y"; });
    if (call->memory.keeps_output && !has_y) saved.push_back(output);
    context->save_for_backward(std::move(saved));
    context->saved_data["call"] = c10::IValue::make_capsule(call);
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const auto capsule = context->saved_data["call"].toCapsule();
    const StandInCall& call = *static_cast<StandInCall*>(capsule.get());
    const variable_list saved = context->get_saved_variables();
    const at::Tensor grad = grads[0].contiguous();
    const at::Tensor working = converter_bytes(call.memory.working);
    variable_list result;
    for (size_t i = 0; i < call.arguments.size(); ++i) {
      const CallArgument& argument = call.arguments[i];
      at::Tensor made;
      if (argument.needs_grad) made = empty_like_facts(call.values[i]);
      if (made.defined() && argument.parameter)
        made = made.to(argument.parameter->tensor.scalar_type());
      result.push_back(std::move(made));
    }
    result.emplace_back();  // the call takes none
    return result;
  }
};

/// Rows of a tensor [.., columns]; ids [B, S] have as many as elements.
int64_t rows_of(const at::Tensor& x) {
  return at::isFloatingType(x.scalar_type()) ? x.numel() / std::max<int64_t>(x.size(-1), 1)
                                             : x.numel();
}

/// `memory` is of a call on `of` tokens; sizes grow with them, caches do not.
PredictedMemory scaled(PredictedMemory memory, int64_t of, int64_t tokens) {
  const double factor = of > 0 ? static_cast<double>(tokens) / static_cast<double>(of) : 1;
  memory.saved = static_cast<int64_t>(static_cast<double>(memory.saved) * factor);
  memory.working = static_cast<int64_t>(static_cast<double>(memory.working) * factor);
  return memory;
}

at::Tensor run_stand_in(std::vector<CallArgument> arguments, const PredictedMemory& memory,
                        ExpectedTensor output, at::Tensor& cache) {
  if (memory.cache > 0 && !cache.defined()) cache = converter_bytes(memory.cache);
  const auto call = c10::make_intrusive<StandInCall>();
  call->memory = memory;
  call->output = std::move(output);
  variable_list sources;
  for (CallArgument& argument : arguments) {
    sources.push_back(argument.parameter ? argument.parameter->tensor : argument.tensor);
    call->values.push_back(facts_of(argument.tensor));
    argument.tensor.reset();  // the call outlives this; it must not hold activations
  }
  call->arguments = std::move(arguments);
  return StandIn::apply(at::TensorList(sources), call);
}

/// Elements that the stock code of a module and of those below it makes and keeps for each token,
/// beside its input: see docs/memory.md.
int64_t stock_elements(model::Module& module) {
  const auto attribute = [&](const char* name) {
    return static_cast<int64_t>(module.attributes().at(name));
  };
  int64_t count = 0;
  if (module.kind() == "attention")  // q, k, v and the output of the heads
    return 2 * (attribute("n_heads") + attribute("n_kv_heads")) * attribute("head_dim");
  if (module.kind() == "feed_forward")
    return 4 * attribute("hidden_dim");  // w1 x, its silu, w3 x, their product
  if (module.kind() == "block")
    count = 3 * attribute("dim");  // both normalised inputs, the sum between the halves
  for (const auto& child : module.children()) count += stock_elements(**child);
  return count;
}

bool keeps_stock_parameters(const BoundImpl& bound) {
  return std::all_of(bound.parameters.begin(), bound.parameters.end(),
                     [](const auto& named) { return named.second->layout.empty(); });
}

}  // namespace

at::Tensor stand_in_for_replacement(const BoundImpl& bound, model::Module& module,
                                    const model::CallContext& context, const model::Inputs& inputs,
                                    at::Tensor& cache) {
  const int64_t tokens = rows_of(inputs[0]);
  PredictedMemory memory;
  if (bound.memory) {
    memory = scaled(*bound.memory, bound.memory_tokens, tokens);
  } else if (keeps_stock_parameters(bound)) {
    return {};
  } else {
    memory.keeps_inputs = true;
    memory.saved = tokens * stock_elements(module) * static_cast<int64_t>(inputs[0].element_size());
  }
  return run_stand_in(make_arguments(bound, context, inputs, nullptr), memory,
                      expected_output(bound, inputs), cache);
}

at::Tensor stand_in_for_wrap(const BoundImpl& bound, const model::CallContext& context,
                             const model::Inputs& inputs, const at::Tensor* output,
                             at::Tensor& cache) {
  PredictedMemory memory;
  memory.keeps_inputs = memory.keeps_output = true;
  if (bound.memory) memory = scaled(*bound.memory, bound.memory_tokens, rows_of(inputs[0]));
  std::vector<CallArgument> arguments = make_arguments(bound, context, inputs, output);
  // It gives gradients to the tensor that it is about and to what its converter added.
  const std::string_view subject = output ? std::string_view("y") : arguments.front().name;
  for (CallArgument& argument : arguments)
    argument.needs_grad &=
        argument.name == subject || (argument.parameter && !argument.parameter->stored_as.empty());
  return run_stand_in(std::move(arguments), memory, facts_of(output ? *output : inputs[0]), cache);
}

}  // namespace titan::converters
