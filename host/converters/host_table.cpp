/// The one table of functions that plugins get.
#include <atomic>
#include <string>

#include "base/log.h"
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

void log_slot(int32_t level, titan_string message) {
  const LogLevel levels[] = {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError};
  log(levels[level < 0 ? 0 : level > 3 ? 3 : level], view_of(message));
}

}  // namespace

const titan_host& host_table() {
  static const titan_host table = [] {
    auto host = sized<titan_host>();
    host.api_level = TITAN_API_LEVEL;
    host.set_error = plugins::set_error;
    host.get_extension = get_extension;
    host.log = log_slot;
    host.registrar_note = plugins::registrar_note;
    host.registrar_converter = plugins::registrar_converter;
    host.create_info = c_create_info;
    host.option_count = c_option_count;
    host.option_bool = c_option_bool;
    host.option_int = c_option_int;
    host.option_float = c_option_float;
    host.option_string = c_option_string;
    host.model_module_count = c_model_module_count;
    host.model_module = c_model_module;
    host.model_find = c_model_find;
    host.model_attribute = c_model_attribute;
    host.model_parameter = c_model_parameter;
    host.record_replace = c_record_replace;
    host.record_wrap = c_record_wrap;
    host.record_observe = c_record_observe;
    host.record_parameter = c_record_parameter;
    host.record_buffer = c_record_buffer;
    host.record_freeze = c_record_freeze;
    host.record_tie = c_record_tie;
    host.record_keep = c_record_keep;
    host.call_info = c_call_info;
    host.call_get = c_call_get;
    host.call_set = c_call_set;
    host.call_save = c_call_save;
    host.call_saved = c_call_saved;
    host.call_grad_output = c_call_grad_output;
    host.call_needs_grad = c_call_needs_grad;
    host.call_set_grad = c_call_set_grad;
    host.call_metric = c_call_metric;
    host.tensor_info = c_tensor_info;
    host.tensor_dl = c_tensor_dl;
    host.tensor_empty = c_tensor_empty;
    host.tensor_from_dl = c_tensor_from_dl;
    host.tensor_release = c_tensor_release;
    host.hook_info = c_hook_info;
    host.hook_count = c_hook_count;
    host.hook_tensor = c_hook_tensor;
    host.hook_find = c_hook_find;
    host.hook_metric = c_hook_metric;
    return host;
  }();
  return table;
}

}  // namespace titan::converters
