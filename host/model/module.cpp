#include "model/module.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "model/kinds.h"
#include "model/mixed_precision.h"
#include "model/op_tape.h"
#include "model/recompute.h"

namespace titan::model {
namespace {

std::string join_name(const std::string& above, const std::string& name) {
  return above.empty() ? name : above + "." + name;
}

std::string describe(const Module& module) {
  return (module.fqn().empty() ? std::string("the root module") : "module '" + module.fqn() + "'") +
         " (" + module.kind() + ")";
}

/// A caller that passes too few inputs would otherwise crash deep inside an operator.
void check_inputs(const Module& module, const Kind& kind, const Inputs& inputs) {
  if (inputs.size() > kind.inputs.size())
    throw internal_error("got " + std::to_string(inputs.size()) + " inputs, takes at most " +
                             std::to_string(kind.inputs.size()),
                         describe(module));
  for (size_t i = 0; i < kind.inputs.size(); ++i)
    if (!kind.inputs[i].optional && (i >= inputs.size() || !inputs[i].defined()))
      throw internal_error("input '" + std::string(kind.inputs[i].name) + "' is missing",
                           describe(module));
}

}  // namespace

Slot::Slot(std::string name, std::unique_ptr<Module> module)
    : name_(std::move(name)), module_(std::move(module)) {}
Slot::~Slot() = default;

std::unique_ptr<Module> Slot::exchange(std::unique_ptr<Module> module) {
  if (!module) throw internal_error("a slot cannot be emptied", describe(*module_));
  if (module->kind() != module_->kind())
    throw usage_error("a module of kind '" + module->kind() +
                          "' cannot take the place of one of kind '" + module_->kind() + "'",
                      describe(*module_),
                      "exchange it with a module of kind '" + module_->kind() + "'");
  if (!module_->fqn().empty()) module->assign_names(module_->fqn());
  return std::exchange(module_, std::move(module));
}

Module::~Module() = default;

at::Tensor Module::operator()(const CallContext& context, Inputs inputs) {
  const Kind* known = find_kind(kind_);
  if (known) check_inputs(*this, *known, inputs);
  if (recompute_ != Recompute::kNothing && starts_recompute_region(context))
    return run_recompute_region(*this, recompute_, context, inputs);
  // Costs nothing unless a profiler records; then the trace has the module's name.
  at::RecordFunction scope(at::RecordScope::USER_SCOPE);
  if (scope.isActive()) scope.before((fqn_.empty() ? "model" : fqn_) + " (" + kind_ + ")");

  const bool changed = replacement_ || !wraps_.empty();
  const bool narrow = context.mixed_precision && known && known->mixed_precision;
  if (narrow && (changed || !narrows_itself()))
    inputs[0] = context.mixed_precision->cast(inputs[0]);
  if (!changed && observers_.empty()) return forward(context, inputs);

  Inputs given = inputs;  // observers see what the caller gave, not what a wrap made of it
  std::vector<Inputs> passed_on(wraps_.size());
  for (size_t i = wraps_.size(); i-- > 0;) {
    wraps_[i]->before(*this, context, inputs);
    passed_on[i] = inputs;
  }
  at::Tensor output;
  if (replacement_) output = replacement_->forward(*this, context, inputs);
  if (!output.defined()) output = forward(context, inputs);
  for (size_t i = 0; i < wraps_.size(); ++i)
    output = wraps_[i]->after(*this, context, passed_on[i], std::move(output));
  if (narrow && observed()) given[0] = context.mixed_precision->cast(given[0]);
  show(context, given, output);
  return output;
}

void Module::show(const CallContext& context, const Inputs& inputs, const at::Tensor& output) {
  if (!observed()) return;
  const at::NoGradGuard no_grad;
  const OpTape::Pause aside;
  for (const auto& observer : observers_) observer->observe(*this, context, inputs, output);
}

Parameter& Module::parameter(std::string_view name) const {
  for (const OwnParameter& own : parameters_)
    if (own.name == name) return *own.parameter;
  throw internal_error("no parameter '" + std::string(name) + "'", describe(*this));
}

Module* Module::find(std::string_view relative_name) {
  if (relative_name.empty()) return this;
  for (const auto& child : children_) {
    // Slot names may hold dots themselves ("layers.0").
    const std::string& name = child->name();
    if (!relative_name.starts_with(name)) continue;
    if (relative_name.size() == name.size()) return child->operator->();
    if (relative_name[name.size()] == '.')
      if (Module* found = (*child)->find(relative_name.substr(name.size() + 1))) return found;
  }
  return nullptr;
}

void Module::check_free(const std::string& name) const {
  const auto same = [&](const auto& own) { return own.name == name; };
  if (std::any_of(parameters_.begin(), parameters_.end(), same) ||
      std::any_of(buffers_.begin(), buffers_.end(), same))
    throw internal_error("the name '" + name + "' is taken", describe(*this));
}

void Module::attach_parameter(std::string name, std::shared_ptr<Parameter> parameter) {
  check_free(name);
  parameters_.push_back({std::move(name), std::move(parameter)});
}

void Module::attach_buffer(std::string name, std::shared_ptr<Buffer> buffer) {
  check_free(name);
  buffers_.push_back({std::move(name), std::move(buffer)});
}

void Module::detach_parameter(std::string_view name) {
  const auto same = [&](const OwnParameter& own) { return own.name == name; };
  if (std::erase_if(parameters_, same) == 0)
    throw internal_error("no parameter '" + std::string(name) + "'", describe(*this));
}

void Module::set_replacement(std::unique_ptr<Replacement> replacement) {
  if (replacement_) throw internal_error("replaced twice", describe(*this));
  replacement_ = std::move(replacement);
}

void Module::add_wrap(std::unique_ptr<Wrap> wrap) { wraps_.push_back(std::move(wrap)); }

void Module::add_observer(std::unique_ptr<Observer> observer) {
  observers_.push_back(std::move(observer));
}

void Module::drop_caches() {
  if (replacement_) replacement_->drop();
  for (const auto& wrap : wraps_) wrap->drop();
}

void Module::assign_names(const std::string& fqn) {
  fqn_ = fqn;
  for (const OwnParameter& own : parameters_)
    if (own.parameter->init_key.empty()) own.parameter->init_key = join_name(fqn, own.name);
  for (const auto& child : children_) (*child)->assign_names(join_name(fqn, child->name()));
}

Parameter& Module::add_parameter(std::string name, std::vector<int64_t> shape, at::ScalarType dtype,
                                 InitRule init) {
  auto parameter = std::make_shared<Parameter>();
  parameter->tensor =
      at::empty(shape, at::TensorOptions().dtype(dtype).device(at::kMeta)).requires_grad_();
  parameter->init = std::move(init);
  attach_parameter(std::move(name), parameter);
  return *parameter;
}

Slot& Module::add_child(std::string name, std::unique_ptr<Module> module) {
  for (const auto& child : children_)
    if (child->name() == name) throw internal_error("two children '" + name + "'", describe(*this));
  children_.push_back(std::make_unique<Slot>(std::move(name), std::move(module)));
  return *children_.back();
}

void visit_modules(Module& root, const std::function<void(Module&)>& visit) {
  visit(root);
  for (const auto& child : root.children()) visit_modules(**child, visit);
}

std::vector<NamedParameter> named_parameters(Module& root) {
  std::vector<NamedParameter> result;
  std::unordered_set<const Parameter*> seen;
  visit_modules(root, [&](Module& module) {
    for (const auto& [name, parameter] : module.parameters())
      if (seen.insert(parameter.get()).second)
        result.push_back(
            {parameter->stored_as.empty() ? join_name(module.fqn(), name) : parameter->stored_as,
             parameter, &module});
  });
  return result;
}

std::vector<NamedBuffer> named_buffers(Module& root) {
  std::vector<NamedBuffer> result;
  std::unordered_set<const Buffer*> seen;
  visit_modules(root, [&](Module& module) {
    for (const auto& [name, buffer] : module.buffers())
      if (seen.insert(buffer.get()).second)
        result.push_back(
            {buffer->stored_as.empty() ? join_name(module.fqn(), name) : buffer->stored_as, buffer,
             &module});
  });
  return result;
}

}  // namespace titan::model
