#include "converters/plugin_module.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "base/error.h"
#include "converters/c_call.h"
#include "converters/output_shape.h"
#include "converters/plugin_result.h"
#include "converters/stand_in.h"
#include "model/kinds.h"
#include "model/mixed_precision.h"

namespace titan::converters {

std::vector<CallArgument> make_arguments(const BoundImpl& bound, const model::CallContext& context,
                                         const model::Inputs& inputs, const at::Tensor* output) {
  std::vector<CallArgument> arguments;
  arguments.reserve(inputs.size() + 1 + bound.parameters.size() + bound.buffers.size());
  for (size_t i = 0; i < bound.inputs.size(); ++i)
    if (i < inputs.size() && inputs[i].defined())
      arguments.push_back({bound.inputs[i].first, inputs[i], 0, true});
  if (output) arguments.push_back({"y", *output, 0, true});
  for (const auto& [name, parameter] : bound.parameters) {
    arguments.push_back(
        {name, model::compute_value(context, bound.kind, *parameter), parameter->version, true});
    arguments.back().parameter = parameter.get();
  }
  for (const auto& [name, buffer] : bound.buffers)
    arguments.push_back({name, buffer->tensor, 0, false});
  for (CallArgument& argument : arguments)
    argument.needs_grad = argument.differentiable && argument.tensor.requires_grad();
  return arguments;
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct ForwardRequest {
  std::shared_ptr<const BoundImpl> bound;
  model::CallContext context;
  std::string_view output_name;
  std::vector<CallArgument> arguments;  ///< without their tensors
  std::vector<ExpectedTensor> facts;    ///< shape, type and device of each argument
  ExpectedTensor expected;
};

at::Tensor run_request(const ForwardRequest& request, at::TensorList tensors, bool grad_enabled,
                       std::vector<at::Tensor>* saved) {
  const auto owned_call = make_call();
  titan_call& call = *owned_call;
  call.bound = request.bound;
  call.context = request.context;
  call.output_name = request.output_name;
  call.grad_enabled = grad_enabled;
  call.arguments = request.arguments;
  for (size_t i = 0; i < tensors.size(); ++i) call.arguments[i].tensor = tensors[i];
  run_forward(call);
  check_output(call, request.expected);
  if (saved) *saved = std::move(call.saved);
  return call.output;
}

/// A plugin's forward and backward as one node of the autograd graph.
struct PluginFunction : torch::autograd::Function<PluginFunction> {
  /// `sources` is what gradients go to, `values` what the plugin gets: the same tensors, but for
  /// parameters that it gets in a narrower type. Why the parameter and not that copy: behind the
  /// copy its gradient would be rounded to the copy's type. Why a TensorList: it is the only list
  /// in which autograd looks for tensors; those of a std::vector would be missed without a word.
  static at::Tensor forward(AutogradContext* context, at::TensorList sources,
                            const variable_list* values,
                            const std::shared_ptr<ForwardRequest>& request) {
    std::vector<at::Tensor> saved;
    at::Tensor output = run_request(*request, *values, true, &saved);
    // An output that is an input would make autograd treat it as changed in place.
    for (const at::TensorList tensors : {sources, at::TensorList(*values)})
      for (const at::Tensor& tensor : tensors)
        if (output.is_same(tensor)) output = output.alias();
    context->save_for_backward(std::move(saved));
    context->saved_data["request"] =
        c10::IValue::make_capsule(c10::make_intrusive<Holder>(request));
    return output;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const auto holder = context->saved_data["request"].toCapsule();
    const ForwardRequest& request = *static_cast<Holder*>(holder.get())->request;
    if (c10::GradMode::is_enabled())
      blame(*request.bound, "second derivatives were asked for",
            "a plugin's own backward cannot be differentiated; leave the converter out here");
    const auto owned_call = make_call();
    titan_call& call = *owned_call;
    call.bound = request.bound;
    call.context = request.context;
    // Backward runs once, also where forward ran twice: state that it keeps may change.
    call.context.recompute = false;
    call.backward = true;
    call.saved = context->get_saved_variables();
    call.grad_output = grads[0].contiguous();
    call.arguments = request.arguments;
    // Inputs live on only if they were saved; parameters and buffers are arguments of every call.
    for (CallArgument& argument : call.arguments) argument.tensor.reset();
    const size_t first =
        call.arguments.size() - request.bound->parameters.size() - request.bound->buffers.size();
    for (size_t i = 0; i < request.bound->parameters.size(); ++i) {
      const model::Parameter& parameter = *request.bound->parameters[i].second;
      call.arguments[first + i].tensor =
          model::compute_value(request.context, request.bound->kind, parameter).contiguous();
      call.arguments[first + i].version = parameter.version;
    }
    for (size_t i = 0; i < request.bound->buffers.size(); ++i)
      call.arguments[first + request.bound->parameters.size() + i].tensor =
          request.bound->buffers[i].second->tensor;
    run_backward(call);
    variable_list result;
    for (size_t i = 0; i < call.arguments.size(); ++i)
      result.push_back(take_gradient(call, i, request.facts[i]));
    result.resize(result.size() + 2);  // the values and the request take no gradient
    return result;
  }

 private:
  struct Holder : torch::CustomClassHolder {
    explicit Holder(std::shared_ptr<ForwardRequest> request) : request(std::move(request)) {}
    std::shared_ptr<ForwardRequest> request;
  };
};

/// Runs an impl on its arguments, with the plugin's gradients or torch's.
at::Tensor run_impl(std::shared_ptr<const BoundImpl> bound, const model::CallContext& context,
                    std::string_view output_name, std::vector<CallArgument> arguments,
                    ExpectedTensor expected) {
  auto request = std::make_shared<ForwardRequest>();
  request->bound = std::move(bound);
  request->context = context;
  request->output_name = output_name;
  request->expected = std::move(expected);
  variable_list tensors, sources;
  bool needs_grad = false;
  const bool own_backward = !(request->bound->impl->flags & TITAN_IMPL_TORCH_AUTOGRAD);
  for (CallArgument& argument : arguments) {
    // Kernels of a plugin want plain memory. Buffers stay as they are: the plugin writes into them.
    if (own_backward && argument.differentiable) argument.tensor = argument.tensor.contiguous();
    tensors.push_back(argument.tensor);
    sources.push_back(argument.parameter ? argument.parameter->tensor : argument.tensor);
    request->facts.push_back(facts_of(argument.tensor));
    needs_grad = needs_grad || argument.needs_grad;
    argument.tensor.reset();  // the request outlives the call; it must not hold activations
  }
  request->arguments = std::move(arguments);
  needs_grad = needs_grad && c10::GradMode::is_enabled();

  if (!own_backward) {
    at::Tensor output = run_request(*request, tensors, needs_grad, nullptr);
    if (needs_grad && !output.requires_grad())
      blame(*request->bound,
            "the output has no autograd graph although an argument requires a gradient",
            "use operators that record autograd (not aoti_torch_cpu_..., not data pointers), or "
            "give backward");
    return output;
  }
  if (!needs_grad) {
    const c10::NoGradGuard no_grad;
    return run_request(*request, tensors, false, nullptr);
  }
  at::Tensor output = PluginFunction::apply(at::TensorList(sources), &tensors, request);
  if (!output.requires_grad())
    throw internal_error("a plugin's output lost its gradient", request->bound->fqn);
  return output;
}

/// A wrap is about one tensor (`subject`) and what it adds; it need not say that it does not depend
/// on the rest. A replacement stands for the whole module and must set every gradient.
std::vector<CallArgument> wrap_arguments(const BoundImpl& bound, const model::CallContext& context,
                                         const model::Inputs& inputs, const at::Tensor* output,
                                         std::string_view subject) {
  std::vector<CallArgument> arguments = make_arguments(bound, context, inputs, output);
  for (CallArgument& argument : arguments) argument.may_lack_grad = argument.name != subject;
  for (const auto& [name, parameter] : bound.parameters)
    if (!parameter->stored_as.empty())
      for (CallArgument& argument : arguments)
        if (argument.name == name) argument.may_lack_grad = false;
  return arguments;
}

void refuse_unknown_inputs(const BoundImpl& bound, const model::Inputs& inputs) {
  const uint32_t flags = bound.impl->flags;
  for (size_t i = 0; i < inputs.size() && i < bound.inputs.size(); ++i) {
    const auto& [name, optional] = bound.inputs[i];
    if (!optional || !inputs[i].defined()) continue;
    const bool known = (name == "positions" && (flags & TITAN_IMPL_POSITIONS)) ||
                       (name == "document_ids" && (flags & TITAN_IMPL_DOCUMENT_IDS));
    if (!known)
      blame(
          bound,
          "the model passes the optional input '" + name + "', which the replacement does not know",
          "leave the converter out, or use a version of the plugin that declares it");
  }
}

class PluginReplacement final : public model::Replacement, public Bindable {
 public:
  explicit PluginReplacement(std::shared_ptr<BoundImpl> bound) : bound_(std::move(bound)) {}
  at::Tensor forward(model::Module& module, const model::CallContext& context,
                     const model::Inputs& inputs) override {
    refuse_unknown_inputs(*bound_, inputs);
    if (inputs[0].is_meta())
      return stand_in_for_replacement(*bound_, module, context, inputs, cache_);
    return run_impl(bound_, context, "y", make_arguments(*bound_, context, inputs, nullptr),
                    expected_output(*bound_, inputs));
  }
  void drop() override {
    cache_.reset();
    if (bound_->impl->drop) bound_->impl->drop(bound_->self);
  }
  void bind(model::Module& module, const std::string& instance,
            const Prediction* prediction) override {
    bound_->bind(module, instance, prediction);
  }

 private:
  std::shared_ptr<BoundImpl> bound_;
  at::Tensor cache_;  ///< on meta: what the plugin is expected to hold from call to call
};

class PluginWrap final : public model::Wrap, public Bindable {
 public:
  PluginWrap(std::shared_ptr<BoundImpl> bound, int32_t where)
      : bound_(std::move(bound)), where_(where) {}
  void before(model::Module&, const model::CallContext& context, model::Inputs& inputs) override {
    if (where_ != TITAN_WRAP_BEFORE) return;
    const std::string& subject = bound_->inputs.at(0).first;
    if (inputs[0].is_meta()) {
      inputs[0] = stand_in_for_wrap(*bound_, context, inputs, nullptr, cache_);
      return;
    }
    inputs[0] =
        run_impl(bound_, context, subject,
                 wrap_arguments(*bound_, context, inputs, nullptr, subject), facts_of(inputs[0]));
  }
  at::Tensor after(model::Module&, const model::CallContext& context, const model::Inputs& inputs,
                   at::Tensor output) override {
    if (where_ != TITAN_WRAP_AFTER) return output;
    if (output.is_meta()) return stand_in_for_wrap(*bound_, context, inputs, &output, cache_);
    return run_impl(bound_, context, "y", wrap_arguments(*bound_, context, inputs, &output, "y"),
                    facts_of(output));
  }
  void drop() override {
    cache_.reset();
    if (bound_->impl->drop) bound_->impl->drop(bound_->self);
  }
  void bind(model::Module& module, const std::string& instance,
            const Prediction* prediction) override {
    bound_->bind(module, instance, prediction);
  }

 private:
  std::shared_ptr<BoundImpl> bound_;
  int32_t where_;
  at::Tensor cache_;  ///< as above
};

class PluginObserver final : public model::Observer, public Bindable {
 public:
  explicit PluginObserver(std::shared_ptr<BoundImpl> bound) : bound_(std::move(bound)) {}
  void observe(model::Module&, const model::CallContext& context, const model::Inputs& inputs,
               const at::Tensor& output) override {
    if (output.is_meta()) return;  // it keeps nothing
    const auto owned_call = make_call();
    titan_call& call = *owned_call;
    call.bound = bound_;
    call.context = context;
    call.arguments = make_arguments(*bound_, context, inputs, &output);
    run_observer(call);
  }
  void bind(model::Module& module, const std::string& instance,
            const Prediction* prediction) override {
    bound_->bind(module, instance, prediction);
  }

 private:
  std::shared_ptr<BoundImpl> bound_;
};

/// Parameters of `module` and below by relative name. Added tensors are visible only to the
/// instance that added them, under the name it gave them.
void collect(BoundImpl& bound, model::Module& module, const std::string& prefix,
             const std::string& instance) {
  const std::string own = instance + "/";
  const auto visible = [&](const std::string& name, const std::string& stored_as) -> std::string {
    if (stored_as.empty()) return prefix + name;
    return name.compare(0, own.size(), own) == 0 ? prefix + name.substr(own.size()) : std::string();
  };
  for (const auto& [name, parameter] : module.parameters())
    if (const std::string shown = visible(name, parameter->stored_as); !shown.empty())
      bound.parameters.emplace_back(shown, parameter);
  for (const auto& [name, buffer] : module.buffers())
    if (const std::string shown = visible(name, buffer->stored_as); !shown.empty())
      bound.buffers.emplace_back(shown, buffer);
  for (const auto& child : module.children())
    collect(bound, **child, prefix + child->name() + ".", instance);
}

}  // namespace

BoundImpl::~BoundImpl() {
  if (impl && impl->destroy) impl->destroy(self);
  if (observer && observer->destroy) observer->destroy(self);
}

void BoundImpl::bind(model::Module& module, const std::string& instance,
                     const Prediction* prediction) {
  if (prediction && prediction->memory) {
    memory = prediction->memory;
    memory_tokens = prediction->tokens;
  }
  fqn = module.fqn();
  kind = module.kind();
  attributes = module.attributes();
  if (const model::Kind* known = model::find_kind(kind))
    for (const model::KindInput& input : known->inputs)
      inputs.emplace_back(input.name, input.optional);
  collect(*this, module, "", instance);
}

std::unique_ptr<model::Replacement> make_plugin_replacement(PluginOrigin origin,
                                                            const titan_module_impl* impl,
                                                            void* self) {
  return std::make_unique<PluginReplacement>(
      std::make_shared<BoundImpl>(std::move(origin), impl, self));
}

std::unique_ptr<model::Wrap> make_plugin_wrap(PluginOrigin origin, int32_t where,
                                              const titan_module_impl* impl, void* self) {
  return std::make_unique<PluginWrap>(std::make_shared<BoundImpl>(std::move(origin), impl, self),
                                      where);
}

std::unique_ptr<model::Observer> make_plugin_observer(PluginOrigin origin,
                                                      const titan_observer* observer, void* self) {
  return std::make_unique<PluginObserver>(
      std::make_shared<BoundImpl>(std::move(origin), observer, self));
}

}  // namespace titan::converters
