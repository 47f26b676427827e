/// titan_call: what one forward or backward of a plugin sees. The host's side.
#pragma once

#include <ATen/core/TensorBody.h>

#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "converters/c_tensor.h"
#include "converters/plugin_module.h"
#include "titan/host.h"

namespace titan::converters {

/// An argument of a call; only inputs and parameters can take gradients.
struct CallArgument {
  std::string_view name;
  at::Tensor tensor;
  uint64_t version = 0;
  bool differentiable = false;
  bool needs_grad = false;
  bool may_lack_grad = false;  ///< backward need not set it: no gradient means zero
  const model::Parameter* parameter = nullptr;  ///< null for inputs, "y" and buffers
  at::Tensor grad = {};                         ///< backward: what the plugin set
  at::Tensor accumulator = {};                  ///< backward: the sum that it was offered to add to
  bool accumulator_was_finite = true;  ///< then; looked at only with context.find_nonfinite
  bool accumulated = false;            ///< backward: it has added its gradient there and sets none
};

}  // namespace titan::converters

struct titan_call {
  uint64_t magic = 0;
  std::thread::id thread;
  std::shared_ptr<const titan::converters::BoundImpl> bound;
  titan::model::CallContext context;
  bool backward = false;
  bool grad_enabled = false;
  std::string_view output_name;  ///< what forward must set; empty: nothing (observers)
  std::vector<titan::converters::CallArgument> arguments;
  at::Tensor output;
  std::vector<at::Tensor> saved;
  at::Tensor grad_output;
  titan::converters::TensorArena arena;
};

namespace titan::converters {

/// Gives a dead call back; see make_call().
struct RetireCall {
  void operator()(titan_call* call) const noexcept;
};
/// A new call at an address that no call of the last few hundred had, so that a handle which a
/// plugin kept is found dead and not taken for another call.
std::unique_ptr<titan_call, RetireCall> make_call();

/// Runs forward / backward / observe of `bound` with `call` alive in between. A failure is a plugin
/// error (exit status 6) that names plugin, instance and module.
void run_forward(titan_call& call);
void run_backward(titan_call& call);
void run_observer(titan_call& call);

titan_status c_call_info(titan_call*, titan_call_info* out);
titan_status c_call_get(titan_call*, titan_string name, titan_tensor** borrowed);
titan_status c_call_set(titan_call*, titan_string name, titan_tensor* owned);
titan_status c_call_save(titan_call*, titan_tensor* borrowed);
titan_status c_call_saved(titan_call*, uint64_t index, titan_tensor** borrowed);
titan_status c_call_grad_output(titan_call*, titan_tensor** borrowed);
titan_status c_call_needs_grad(titan_call*, titan_string name, int32_t* out);
titan_status c_call_set_grad(titan_call*, titan_string name, titan_tensor* owned);
titan_status c_call_grad_accumulator(titan_call*, titan_string parameter, titan_tensor** borrowed);
titan_status c_call_grad_accumulated(titan_call*, titan_string parameter);
titan_status c_call_metric(titan_call*, titan_string name, double value);

}  // namespace titan::converters
