#include "model/op_tape.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

#include <utility>

#include "base/error.h"

namespace titan::model {
namespace {

/// A spare key below autograd that no tensor has. It is on only inside a scope, on one thread, so
/// all other calls are dispatched as if the fallback were not there.
///
/// Why not hooks for saved tensors: they see what is saved, not which operator made it, and torch
/// offers them to C++ only by replacing the autograd engine. Why not marks at our own call sites:
/// the operators that plugins call by name would be missed, and a result could be taken from the
/// tape only under a node of our own, with a backward written again. A second fallback on the key,
/// in another library, is an error when it is loaded, not a silent loss.
constexpr c10::DispatchKey kTapeKey = c10::DispatchKey::Fake;

/// The dispatcher calls a plain function: this is how it finds the tape.
thread_local OpTape::Scope* innermost = nullptr;

/// torchtitan keeps the largest element of a whole tensor as well: float8 scales come from it.
bool is_amax(const c10::OperatorName& op) {
  return op.name == "aten::max" && op.overload_name.empty();
}

/// Only kernels that give the same with and without gradients: the memory-efficient and cuDNN ones
/// leave out what backward needs when gradients are off.
bool is_attention(const std::string& op) {
  return op == "aten::_scaled_dot_product_flash_attention" ||
         op == "aten::_scaled_dot_product_flash_attention_for_cpu" || op == "titan::rope_attention";
}

int64_t changes_of(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined() ? value.toTensor()._version() : -1;
}

[[noreturn]] void differs(const std::string& what) {
  throw plugin_error("the second forward of a block differs from the first: " + what,
                     "activation_checkpoint.selective_ac_option: op",
                     "a converter calls other operators in calls marked TITAN_CALL_RECOMPUTE, or "
                     "changes results of matrix products in place; leave it out, or set "
                     "--activation_checkpoint.selective_ac_option=1");
}

/// Another handle on the same values, without a place in a graph (autograd writes into the one that
/// goes on to the caller) but with the same counter of changes in place.
at::Tensor handle_on(const at::Tensor& tensor) {
  c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  return at::Tensor(impl.shallow_copy_and_detach(impl.version_counter(),
                                                 /*allow_tensor_metadata_change=*/true));
}

}  // namespace

OpTape::Scope::Scope(OpTape& tape, Mode mode)
    : tape_(tape), mode_(mode), outer_(innermost), seen_(kTapeKey) {
  innermost = this;
}

OpTape::Scope::~Scope() { innermost = outer_; }

OpTape::Pause::Pause() : paused_(std::exchange(innermost, nullptr)) {}
OpTape::Pause::~Pause() { innermost = paused_; }

void OpTape::dispatch(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                      std::vector<c10::IValue>* stack) {
  const std::string& name = op.schema().name();
  bool kept = false;
  if (innermost && name == "aten::mm")
    kept = innermost->products_++ % 2 == 0;
  else if (innermost)
    kept = is_attention(name) || is_amax(op.operator_name());
  const Shapes operands = kept ? operands_of(op, *stack) : Shapes();
  if (kept && innermost->mode_ == Mode::kReplay)
    return innermost->tape_.replay(op, operands, *stack);
  op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kTapeKey), stack);
  if (kept) innermost->tape_.record(op, operands, *stack);
}

OpTape::Shapes OpTape::operands_of(const c10::OperatorHandle& op,
                                   const std::vector<c10::IValue>& stack) {
  Shapes shapes;
  for (const c10::IValue& argument : torch::jit::last(stack, op.schema().arguments().size()))
    if (argument.isTensor() && argument.toTensor().defined())
      shapes.push_back(argument.toTensor().sizes().vec());
  return shapes;
}

void OpTape::record(const c10::OperatorHandle& op, Shapes operands,
                    const std::vector<c10::IValue>& stack) {
  Entry entry{op.schema().name(), std::move(operands), {}, {}};
  for (const c10::IValue& result : torch::jit::last(stack, op.schema().returns().size())) {
    const bool tensor = result.isTensor() && result.toTensor().defined();
    entry.results.push_back(tensor ? c10::IValue(handle_on(result.toTensor())) : result);
    entry.changes_in_place.push_back(changes_of(result));
  }
  entries_.push_back(std::move(entry));
}

void OpTape::replay(const c10::OperatorHandle& op, const Shapes& operands,
                    std::vector<c10::IValue>& stack) {
  const std::string& name = op.schema().name();
  if (entries_.empty()) differs("it calls " + name + " once more");
  Entry entry = std::move(entries_.front());
  entries_.pop_front();
  if (entry.op != name) differs("it calls " + name + " where the first called " + entry.op);
  if (entry.operands != operands) differs("it calls " + name + " with operands of other shapes");
  for (size_t i = 0; i < entry.results.size(); ++i)
    if (changes_of(entry.results[i]) != entry.changes_in_place[i])
      differs("the result of " + name + " was changed in place after it had been kept");
  torch::jit::drop(stack, op.schema().arguments().size());
  for (c10::IValue& result : entry.results) stack.push_back(std::move(result));
}

TORCH_LIBRARY_IMPL(_, Fake, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&OpTape::dispatch>());
}

}  // namespace titan::model
