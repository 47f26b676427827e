#include "converters/c_call.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>

#include <deque>
#include <new>

#include "converters/c_support.h"
#include "converters/plugin_result.h"
#include "converters/plugin_status.h"

namespace titan::converters {
namespace {

constexpr uint64_t kLiveCall = 0x7469'7461'6e63'616cULL;

/// Marks the call as usable by the plugin on this thread while it runs.
class CallScope {
 public:
  explicit CallScope(titan_call& call) : call_(call) {
    call_.magic = kLiveCall;
    call_.thread = std::this_thread::get_id();
  }
  ~CallScope() { call_.magic = 0; }

 private:
  titan_call& call_;
};

titan_status usable(const titan_call* call, const char* function) {
  if (!call || call->magic != kLiveCall)
    return fail(TITAN_WRONG_STATE, std::string(function) + ": the call is over",
                "use a titan_call only until the function it was passed to returns");
  if (call->thread != std::this_thread::get_id())
    return fail(TITAN_WRONG_STATE,
                std::string(function) + ": called from another thread than the call runs on",
                "talk to the host from the thread that the host called");
  return TITAN_OK;
}

CallArgument* find_argument(titan_call* call, std::string_view name) {
  for (CallArgument& argument : call->arguments)
    if (argument.name == name) return &argument;
  return nullptr;
}

std::string argument_names(const titan_call* call) {
  std::string names;
  for (const CallArgument& argument : call->arguments)
    names += (names.empty() ? "" : ", ") + std::string(argument.name);
  return names;
}

/// A tensor in the compute type: inputs and parameters agree on it, and so does a gradient.
/// Backward has no inputs, and a module may have no parameters.
const at::Tensor& example_of(const titan_call& call) {
  for (const CallArgument& argument : call.arguments)
    if (argument.tensor.defined() && at::isFloatingType(argument.tensor.scalar_type()))
      return argument.tensor;
  return call.grad_output;
}

titan_status no_argument(const titan_call* call, const char* function, std::string_view name) {
  return fail(TITAN_NOT_FOUND,
              std::string(function) + ": the call has no tensor '" + std::string(name) + "'",
              "it has: " + argument_names(call));
}

titan_status no_gradient_yet(const CallArgument& argument, const char* function) {
  if (!argument.grad.defined() && !argument.accumulated) return TITAN_OK;
  return fail(TITAN_WRONG_STATE,
              std::string(function) + ": the gradient of '" + std::string(argument.name) +
                  "' was " + (argument.accumulated ? "added to its sum" : "set") + " already",
              "add up the parts in the plugin and hand in the sum, once");
}

/// The parameter `name` in backward, with its gradient still to come.
titan_status parameter_of(titan_call* call, const char* function, std::string_view name,
                          CallArgument** out) {
  if (const titan_status status = usable(call, function)) return status;
  if (!call->backward) return fail(TITAN_WRONG_STATE, std::string(function) + ": only in backward");
  CallArgument* argument = find_argument(call, name);
  if (!argument) return no_argument(call, function, name);
  if (!argument->parameter)
    return fail(TITAN_INVALID_ARGUMENT,
                std::string(function) + ": '" + std::string(name) + "' is not a parameter",
                "only gradients of parameters are added up over calls; set that of an input with "
                "call_set_grad");
  *out = argument;
  return no_gradient_yet(*argument, function);
}

/// Whether a plugin may write into `sum`, the .grad of `parameter`. Autograd takes a gradient over
/// as the sum without a copy, so the memory may be a part of something that others still read.
bool can_be_added_to(const at::Tensor& sum, const at::Tensor& parameter) {
  return sum.defined() && sum.layout() == at::kStrided && sum.is_contiguous() &&
         !sum.requires_grad() && sum.scalar_type() == parameter.scalar_type() &&
         sum.sizes() == parameter.sizes() && sum.device() == parameter.device() &&
         sum.storage().use_count() == 1;
}

}  // namespace

std::unique_ptr<titan_call, RetireCall> make_call() {
  return std::unique_ptr<titan_call, RetireCall>(new titan_call);
}

void RetireCall::operator()(titan_call* call) const noexcept {
  constexpr size_t kQuarantine = 256;
  thread_local std::deque<std::unique_ptr<titan_call>> dead;
  std::unique_ptr<titan_call> owned(call);
  // Tensors and lists go at once; what stays is a few hundred bytes that say "dead".
  call->bound.reset();
  std::vector<CallArgument>().swap(call->arguments);
  std::vector<at::Tensor>().swap(call->saved);
  call->output.reset();
  call->grad_output.reset();
  call->arena.clear();
  try {
    dead.push_back(std::move(owned));
    if (dead.size() > kQuarantine) dead.pop_front();
  } catch (const std::bad_alloc&) {
    // Then this one is freed now.
  }
}

/// In the first step what a plugin may only read is hashed before and after each of its calls: a
/// stray write into memory that others share would show up anywhere and nowhere.
class WriteCheck {
 public:
  explicit WriteCheck(const titan_call& call) : call_(call) {
    if (call.context.step > 1 || call.context.micro_batch > 0) return;
    before_ = hashes();
  }
  void done(const char* function) const {
    if (before_.empty()) return;
    const std::vector<int64_t> after = hashes();
    for (size_t i = 0; i < before_.size(); ++i)
      if (before_[i] != after[i])
        throw plugin_error(
            "the plugin wrote into " +
                (i < call_.arguments.size() ? "'" + std::string(call_.arguments[i].name) + "'"
                                            : std::string("the gradient of the output")) +
                " in " + function + " of module '" + call_.bound->fqn + "'",
            call_.bound->origin.text(),
            "arguments are read-only but for buffers: make a new tensor and set that");
  }

 private:
  static int64_t hash_of(const at::Tensor& tensor) {
    const bool hashable =
        tensor.defined() && !tensor.is_meta() &&
        (tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kBFloat16 ||
         tensor.scalar_type() == at::kDouble || tensor.scalar_type() == at::kHalf);
    if (!hashable || tensor.numel() == 0) return 0;
    const c10::NoGradGuard no_grad;
    return at::hash_tensor(tensor.detach()).view(at::kLong).item<int64_t>();
  }
  std::vector<int64_t> hashes() const {
    std::vector<int64_t> list;
    for (const CallArgument& argument : call_.arguments)
      list.push_back(argument.differentiable ? hash_of(argument.tensor) : 0);
    list.push_back(hash_of(call_.grad_output));
    return list;
  }
  const titan_call& call_;
  std::vector<int64_t> before_;
};

void run_forward(titan_call& call) {
  const CallScope scope(call);
  const WriteCheck writes(call);
  call_plugin(call.bound->origin, {"forward", &call.bound->fqn}, false,
              [&] { return call.bound->impl->forward(call.bound->self, &call); });
  writes.done("forward");
}

void run_backward(titan_call& call) {
  const CallScope scope(call);
  const WriteCheck writes(call);
  call_plugin(call.bound->origin, {"backward", &call.bound->fqn}, false,
              [&] { return call.bound->impl->backward(call.bound->self, &call); });
  writes.done("backward");
}

void run_observer(titan_call& call) {
  const CallScope scope(call);
  const WriteCheck writes(call);
  call_plugin(call.bound->origin, {"observe", &call.bound->fqn}, false,
              [&] { return call.bound->observer->observe(call.bound->self, &call); });
  writes.done("observe");
}

titan_status c_call_info(titan_call* call, titan_call_info* out) {
  if (const titan_status status = usable(call, "call_info")) return status;
  auto info = sized<titan_call_info>();
  info.flags = (call->context.training ? TITAN_CALL_TRAINING : 0u) |
               (call->grad_enabled ? TITAN_CALL_GRAD_ENABLED : 0u) |
               (call->context.recompute ? TITAN_CALL_RECOMPUTE : 0u) |
               (call->backward ? TITAN_CALL_BACKWARD : 0u);
  info.fqn = c_string(call->bound->fqn);
  info.step = call->context.step;
  info.micro_batch = call->context.micro_batch;
  info.stream = call->context.stream;
  const at::Tensor& example = example_of(*call);
  if (example.defined()) {
    info.device = to_dl_device(example.device());
    info.compute_dtype = to_dl_dtype(example.scalar_type());
  }
  return copy_out(info, out, "call_info");
}

titan_status c_call_get(titan_call* call, titan_string name, titan_tensor** borrowed) {
  return slot([&]() -> titan_status {
    if (const titan_status status = usable(call, "call_get")) return status;
    if (!borrowed) return fail(TITAN_INVALID_ARGUMENT, "call_get: the result pointer is NULL");
    const CallArgument* argument = find_argument(call, view_of(name));
    if (!argument) return no_argument(call, "call_get", view_of(name));
    if (!argument->tensor.defined())
      return fail(
          TITAN_NOT_FOUND,
          "call_get: '" + std::string(view_of(name)) + "' is not part of this call",
          "in backward only saved tensors, parameters and buffers are at hand: use call_save");
    *borrowed = call->arena.borrow(argument->tensor, argument->version);
    return TITAN_OK;
  });
}

titan_status c_call_set(titan_call* call, titan_string name, titan_tensor* owned) {
  return slot([&]() -> titan_status {
    if (const titan_status status = usable(call, "call_set")) return status;
    if (!is_live(owned) || !owned->owned)
      return fail(TITAN_INVALID_ARGUMENT, "call_set: needs a tensor that the plugin owns",
                  "make one with tensor_empty, tensor_from_dl or from_handle");
    at::Tensor tensor = take(owned);
    if (call->backward || call->output_name.empty() || view_of(name) != call->output_name)
      return fail(TITAN_WRONG_STATE,
                  "call_set: '" + std::string(view_of(name)) + "' cannot be set here",
                  call->output_name.empty() || call->backward
                      ? "only forward sets an output"
                      : "this call sets '" + std::string(call->output_name) + "'");
    if (call->output.defined())
      return fail(TITAN_WRONG_STATE,
                  "call_set: '" + std::string(call->output_name) + "' was set already",
                  "set the output once");
    call->output = std::move(tensor);
    return TITAN_OK;
  });
}

titan_status c_call_save(titan_call* call, titan_tensor* borrowed) {
  return slot([&]() -> titan_status {
    if (const titan_status status = usable(call, "call_save")) return status;
    if (call->backward || call->output_name.empty())
      return fail(TITAN_WRONG_STATE, "call_save: only forward can save tensors");
    if (!is_live(borrowed))
      return fail(TITAN_WRONG_STATE, "call_save: the tensor handle is not alive");
    call->saved.push_back(borrowed->tensor);
    return TITAN_OK;
  });
}

titan_status c_call_saved(titan_call* call, uint64_t index, titan_tensor** borrowed) {
  return slot([&]() -> titan_status {
    if (const titan_status status = usable(call, "call_saved")) return status;
    if (!call->backward)
      return fail(TITAN_WRONG_STATE, "call_saved: only backward can read saved tensors");
    if (!borrowed) return fail(TITAN_INVALID_ARGUMENT, "call_saved: the result pointer is NULL");
    if (index >= call->saved.size())
      return fail(TITAN_NOT_FOUND,
                  "call_saved: number " + std::to_string(index) + " was not saved; forward saved " +
                      std::to_string(call->saved.size()),
                  "call save (call_save) in forward for each tensor that backward reads; they are "
                  "numbered from 0");
    *borrowed = call->arena.borrow(call->saved[index]);
    return TITAN_OK;
  });
}

titan_status c_call_grad_output(titan_call* call, titan_tensor** borrowed) {
  return slot([&]() -> titan_status {
    if (const titan_status status = usable(call, "call_grad_output")) return status;
    if (!call->backward) return fail(TITAN_WRONG_STATE, "call_grad_output: only in backward");
    if (!borrowed)
      return fail(TITAN_INVALID_ARGUMENT, "call_grad_output: the result pointer is NULL");
    *borrowed = call->arena.borrow(call->grad_output);
    return TITAN_OK;
  });
}

titan_status c_call_needs_grad(titan_call* call, titan_string name, int32_t* out) {
  return slot([&]() -> titan_status {
    if (const titan_status status = usable(call, "call_needs_grad")) return status;
    if (!out) return fail(TITAN_INVALID_ARGUMENT, "call_needs_grad: the result pointer is NULL");
    const CallArgument* argument = find_argument(call, view_of(name));
    if (!argument) return no_argument(call, "call_needs_grad", view_of(name));
    *out = argument->needs_grad ? 1 : 0;
    return TITAN_OK;
  });
}

titan_status c_call_set_grad(titan_call* call, titan_string name, titan_tensor* owned) {
  return slot([&]() -> titan_status {
    if (const titan_status status = usable(call, "call_set_grad")) return status;
    if (!is_live(owned) || !owned->owned)
      return fail(TITAN_INVALID_ARGUMENT, "call_set_grad: needs a tensor that the plugin owns",
                  "make one with tensor_empty, tensor_from_dl or from_handle");
    at::Tensor tensor = take(owned);
    if (!call->backward) return fail(TITAN_WRONG_STATE, "call_set_grad: only in backward");
    CallArgument* argument = find_argument(call, view_of(name));
    if (!argument) return no_argument(call, "call_set_grad", view_of(name));
    if (const titan_status status = no_gradient_yet(*argument, "call_set_grad")) return status;
    argument->grad = std::move(tensor);
    return TITAN_OK;
  });
}

titan_status c_call_grad_accumulator(titan_call* call, titan_string parameter,
                                     titan_tensor** borrowed) {
  return slot([&]() -> titan_status {
    CallArgument* argument = nullptr;
    if (const titan_status status =
            parameter_of(call, "call_grad_accumulator", view_of(parameter), &argument))
      return status;
    if (!borrowed)
      return fail(TITAN_INVALID_ARGUMENT, "call_grad_accumulator: the result pointer is NULL");
    const at::Tensor& sum = argument->parameter->tensor.grad();
    *borrowed = nullptr;
    if (!argument->needs_grad || !can_be_added_to(sum, argument->parameter->tensor))
      return TITAN_OK;
    argument->accumulator = sum;
    if (call->context.find_nonfinite) argument->accumulator_was_finite = all_finite(sum);
    *borrowed = call->arena.borrow(sum);
    return TITAN_OK;
  });
}

titan_status c_call_grad_accumulated(titan_call* call, titan_string parameter) {
  return slot([&]() -> titan_status {
    CallArgument* argument = nullptr;
    if (const titan_status status =
            parameter_of(call, "call_grad_accumulated", view_of(parameter), &argument))
      return status;
    if (!argument->accumulator.defined())
      return fail(TITAN_WRONG_STATE,
                  "call_grad_accumulated: this call has no sum of gradients of '" +
                      std::string(view_of(parameter)) + "' to add to",
                  "add to what call_grad_accumulator gives in the same call; where that is NULL "
                  "use call_set_grad");
    argument->accumulated = true;
    argument->accumulator.unsafeGetTensorImpl()->bump_version();
    return TITAN_OK;
  });
}

titan_status c_call_metric(titan_call* call, titan_string name, double value) {
  return slot([&]() -> titan_status {
    if (const titan_status status = usable(call, "call_metric")) return status;
    if (const titan_status status = check_metric_name("call_metric", name, call->context.metrics);
        status != TITAN_OK)
      return status;
    if (call->context.metrics)
      (*call->context.metrics)[call->bound->origin.instance + "/" + call->bound->fqn + "." +
                               std::string(view_of(name))] = value;
    return TITAN_OK;
  });
}

}  // namespace titan::converters
