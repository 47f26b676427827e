/// titan_create, titan_model and titan_hook: contexts of a converter's callbacks, the host's side.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "converters/c_tensor.h"
#include "converters/model_converter.h"
#include "converters/plugin_module.h"
#include "titan/host.h"

struct titan_create {
  uint64_t magic = 0;
  std::thread::id thread = {};
  const titan::converters::CreateContext* context = nullptr;
  titan_device_info device{};
};

struct titan_model {
  uint64_t magic = 0;
  std::thread::id thread = {};
  titan::converters::Recorder* recorder = nullptr;
  titan::converters::PluginOrigin origin;
};

struct titan_hook {
  uint64_t magic = 0;
  std::thread::id thread = {};
  titan::converters::HookContext* context = nullptr;
  std::vector<std::vector<int64_t>> shapes, offsets;
  titan::converters::TensorArena arena;
};

namespace titan::converters {

/// Tells the types of contexts apart: a plugin in C may cast one into another.
template <class Context>
inline constexpr uint64_t kContextMagic = 0;
template <>
inline constexpr uint64_t kContextMagic<titan_create> = 0x7469'7461'6e63'7265ULL;
template <>
inline constexpr uint64_t kContextMagic<titan_model> = 0x7469'7461'6e6d'6f64ULL;
template <>
inline constexpr uint64_t kContextMagic<titan_hook> = 0x7469'7461'6e68'6f6fULL;

/// A context is usable while its scope lives, on the thread that made it: the magic is cleared when
/// the callback returns.
template <class Context>
class ContextScope {
 public:
  explicit ContextScope(Context& context) : context_(context) {
    context_.thread = std::this_thread::get_id();
    context_.magic = kContextMagic<Context>;
  }
  ~ContextScope() { context_.magic = 0; }
  static bool alive(const Context* context) {
    return context && context->magic == kContextMagic<Context> &&
           context->thread == std::this_thread::get_id();
  }

 private:
  Context& context_;
};

titan_status c_create_info(titan_create*, titan_create_info* out);
titan_status c_option_count(titan_create*, titan_string name, uint64_t* out);
titan_status c_option_bool(titan_create*, titan_string name, uint64_t index, int32_t* out);
titan_status c_option_int(titan_create*, titan_string name, uint64_t index, int64_t* out);
titan_status c_option_float(titan_create*, titan_string name, uint64_t index, double* out);
titan_status c_option_string(titan_create*, titan_string name, uint64_t index, titan_string* out);

titan_status c_model_module_count(titan_model*, uint64_t* out);
titan_status c_model_module(titan_model*, uint64_t module, titan_module_info* out);
titan_status c_model_find(titan_model*, titan_string fqn, uint64_t* out);
titan_status c_model_attribute(titan_model*, uint64_t module, titan_string name, double* out);
titan_status c_model_parameter(titan_model*, uint64_t module, uint64_t index,
                               titan_parameter_info* out);
titan_status c_record_replace(titan_model*, uint64_t module, const titan_module_impl*, void* self);
titan_status c_record_wrap(titan_model*, uint64_t module, int32_t where, const titan_module_impl*,
                           void* self);
titan_status c_record_observe(titan_model*, uint64_t module, const titan_observer*, void* self);
titan_status c_record_parameter(titan_model*, uint64_t module, const titan_tensor_spec*);
titan_status c_record_buffer(titan_model*, uint64_t module, const titan_tensor_spec*);
titan_status c_record_layout(titan_model*, uint64_t module, const titan_layout* layout);
titan_status c_record_freeze(titan_model*, uint64_t module, titan_string parameter);
titan_status c_record_tie(titan_model*, uint64_t module, titan_string parameter, uint64_t other,
                          titan_string other_parameter);
titan_status c_record_keep(titan_model*, uint64_t module, titan_string reason);
titan_status c_record_prediction(titan_model*, uint64_t module, const titan_prediction*);

titan_status c_hook_info(titan_hook*, titan_hook_info* out);
titan_status c_hook_count(titan_hook*, uint64_t* out);
titan_status c_hook_tensor(titan_hook*, uint64_t index, titan_hook_tensor* out);
titan_status c_hook_find(titan_hook*, titan_string fqn, titan_hook_tensor* out);
titan_status c_hook_metric(titan_hook*, titan_string name, double value);

}  // namespace titan::converters
