/// The one table of functions that plugins get.
#include <atomic>
#include <string>

#include "base/log.h"
#include "base/printable.h"
#include "converters/c_call.h"
#include "converters/c_contexts.h"
#include "converters/c_support.h"
#include "converters/plugin_converter.h"
#include "plugins/registrar.h"
#include "titan/ext/torch_tensor.h"
#include "titan/version.h"

namespace titan::converters {
namespace {

const void* get_extension(titan_string id) {
  return view_of(id) == TITAN_EXT_TORCH_TENSOR ? torch_tensor_extension() : nullptr;
}

void log_line(int32_t level, titan_string message) {
  const LogLevel levels[] = {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning,
                             LogLevel::kError};
  log(levels[level < 0 ? 0 : level > 3 ? 3 : level], printable(view_of(message)));
}

/// Nothing that the host throws may cross a plugin's frames: the plugin may be C, or have an
/// unwinder of its own.
template <auto function>
struct Slot;
template <class... A, titan_status (*function)(A...)>
struct Slot<function> {
  static titan_status call(A... arguments) noexcept {
    return slot([&] { return function(arguments...); });
  }
};
template <class... A, void (*function)(A...)>
struct Slot<function> {
  static void call(A... arguments) noexcept {
    slot([&] {
      function(arguments...);
      return TITAN_OK;
    });
  }
};

}  // namespace

const titan_host& host_table() {
  static const titan_host table = [] {
    auto host = sized<titan_host>();
    host.api_level = TITAN_API_LEVEL;
    host.set_error = plugins::set_error;
    host.get_extension = get_extension;
    host.log = Slot<log_line>::call;
    host.registrar_note = Slot<plugins::registrar_note>::call;
    host.registrar_converter = Slot<plugins::registrar_converter>::call;
    host.create_info = Slot<c_create_info>::call;
    host.option_count = Slot<c_option_count>::call;
    host.option_bool = Slot<c_option_bool>::call;
    host.option_int = Slot<c_option_int>::call;
    host.option_float = Slot<c_option_float>::call;
    host.option_string = Slot<c_option_string>::call;
    host.model_module_count = Slot<c_model_module_count>::call;
    host.model_module = Slot<c_model_module>::call;
    host.model_find = Slot<c_model_find>::call;
    host.model_attribute = Slot<c_model_attribute>::call;
    host.model_parameter = Slot<c_model_parameter>::call;
    host.record_replace = Slot<c_record_replace>::call;
    host.record_wrap = Slot<c_record_wrap>::call;
    host.record_observe = Slot<c_record_observe>::call;
    host.record_parameter = Slot<c_record_parameter>::call;
    host.record_buffer = Slot<c_record_buffer>::call;
    host.record_freeze = Slot<c_record_freeze>::call;
    host.record_tie = Slot<c_record_tie>::call;
    host.record_keep = Slot<c_record_keep>::call;
    host.call_info = Slot<c_call_info>::call;
    host.call_get = Slot<c_call_get>::call;
    host.call_set = Slot<c_call_set>::call;
    host.call_save = Slot<c_call_save>::call;
    host.call_saved = Slot<c_call_saved>::call;
    host.call_grad_output = Slot<c_call_grad_output>::call;
    host.call_needs_grad = Slot<c_call_needs_grad>::call;
    host.call_set_grad = Slot<c_call_set_grad>::call;
    host.call_metric = Slot<c_call_metric>::call;
    host.tensor_info = Slot<c_tensor_info>::call;
    host.tensor_dl = Slot<c_tensor_dl>::call;
    host.tensor_empty = Slot<c_tensor_empty>::call;
    host.tensor_from_dl = Slot<c_tensor_from_dl>::call;
    host.tensor_release = Slot<c_tensor_release>::call;
    host.hook_info = Slot<c_hook_info>::call;
    host.hook_count = Slot<c_hook_count>::call;
    host.hook_tensor = Slot<c_hook_tensor>::call;
    host.hook_find = Slot<c_hook_find>::call;
    host.hook_metric = Slot<c_hook_metric>::call;
    host.record_layout = Slot<c_record_layout>::call;
    host.record_prediction = Slot<c_record_prediction>::call;
    host.call_grad_accumulator = Slot<c_call_grad_accumulator>::call;
    host.call_grad_accumulated = Slot<c_call_grad_accumulated>::call;
    return host;
  }();
  return table;
}

}  // namespace titan::converters
