/// The type of every field of every struct that crosses, signatures of functions included, frozen
/// per API level: sizes alone would not notice a changed callback.
#include <titan/ext/torch_tensor.h>
#include <titan/titan_sdk.h>

#include <type_traits>

#define TYPE(type, field, ...) static_assert(std::is_same_v<decltype(type::field), __VA_ARGS__>)

TYPE(titan_string, data, const char *);
TYPE(titan_string, size, uint64_t);

TYPE(titan_dl_device, type, int32_t);
TYPE(titan_dl_device, index, int32_t);

TYPE(titan_dl_dtype, code, uint8_t);
TYPE(titan_dl_dtype, bits, uint8_t);
TYPE(titan_dl_dtype, lanes, uint16_t);

TYPE(titan_dl_tensor, data, void *);
TYPE(titan_dl_tensor, device, titan_dl_device);
TYPE(titan_dl_tensor, ndim, int32_t);
TYPE(titan_dl_tensor, dtype, titan_dl_dtype);
TYPE(titan_dl_tensor, shape, int64_t *);
TYPE(titan_dl_tensor, strides, int64_t *);
TYPE(titan_dl_tensor, byte_offset, uint64_t);

TYPE(titan_dl_managed_tensor, major, uint32_t);
TYPE(titan_dl_managed_tensor, minor, uint32_t);
TYPE(titan_dl_managed_tensor, manager_ctx, void *);
TYPE(titan_dl_managed_tensor, deleter, void (*)(struct titan_dl_managed_tensor *self));
TYPE(titan_dl_managed_tensor, flags, uint64_t);
TYPE(titan_dl_managed_tensor, dl_tensor, titan_dl_tensor);

TYPE(titan_tensor_info, struct_size, uint32_t);
TYPE(titan_tensor_info, flags, uint32_t);
TYPE(titan_tensor_info, dtype, titan_dl_dtype);
TYPE(titan_tensor_info, device, titan_dl_device);
TYPE(titan_tensor_info, ndim, int32_t);
TYPE(titan_tensor_info, shape, const int64_t *);
TYPE(titan_tensor_info, strides, const int64_t *);
TYPE(titan_tensor_info, version, uint64_t);

TYPE(titan_module_info, struct_size, uint32_t);
TYPE(titan_module_info, flags, uint32_t);
TYPE(titan_module_info, fqn, titan_string);
TYPE(titan_module_info, kind, titan_string);
TYPE(titan_module_info, parameter_count, uint64_t);

TYPE(titan_parameter_info, struct_size, uint32_t);
TYPE(titan_parameter_info, flags, uint32_t);
TYPE(titan_parameter_info, name, titan_string);
TYPE(titan_parameter_info, shape, const int64_t *);
TYPE(titan_parameter_info, ndim, int32_t);
TYPE(titan_parameter_info, dtype, titan_dl_dtype);

TYPE(titan_init_rule, struct_size, uint32_t);
TYPE(titan_init_rule, rule, int32_t);
TYPE(titan_init_rule, a, double);
TYPE(titan_init_rule, b, double);
TYPE(titan_init_rule, source, titan_string);

TYPE(titan_prediction, struct_size, uint32_t);
TYPE(titan_prediction, flags, uint32_t);
TYPE(titan_prediction, speedup, double);
TYPE(titan_prediction, tokens, int64_t);
TYPE(titan_prediction, basis, titan_string);
TYPE(titan_prediction, saved_bytes, int64_t);
TYPE(titan_prediction, working_bytes, int64_t);
TYPE(titan_prediction, cache_bytes, int64_t);

TYPE(titan_tensor_spec, struct_size, uint32_t);
TYPE(titan_tensor_spec, flags, uint32_t);
TYPE(titan_tensor_spec, name, titan_string);
TYPE(titan_tensor_spec, shape, const int64_t *);
TYPE(titan_tensor_spec, ndim, int32_t);
TYPE(titan_tensor_spec, dtype, titan_dl_dtype);
TYPE(titan_tensor_spec, init, const titan_init_rule *);

TYPE(titan_call_info, struct_size, uint32_t);
TYPE(titan_call_info, flags, uint32_t);
TYPE(titan_call_info, fqn, titan_string);
TYPE(titan_call_info, step, int64_t);
TYPE(titan_call_info, micro_batch, int64_t);
TYPE(titan_call_info, device, titan_dl_device);
TYPE(titan_call_info, compute_dtype, titan_dl_dtype);
TYPE(titan_call_info, stream, void *);

TYPE(titan_module_impl, struct_size, uint32_t);
TYPE(titan_module_impl, flags, uint32_t);
TYPE(titan_module_impl, forward, titan_status (*)(void *self, titan_call *call));
TYPE(titan_module_impl, backward, titan_status (*)(void *self, titan_call *call));
TYPE(titan_module_impl, drop, void (*)(void *self));
TYPE(titan_module_impl, destroy, void (*)(void *self));

TYPE(titan_observer, struct_size, uint32_t);
TYPE(titan_observer, flags, uint32_t);
TYPE(titan_observer, observe, titan_status (*)(void *self, titan_call *call));
TYPE(titan_observer, destroy, void (*)(void *self));

TYPE(titan_device_info, struct_size, uint32_t);
TYPE(titan_device_info, type, int32_t);
TYPE(titan_device_info, name, titan_string);
TYPE(titan_device_info, capability_major, int32_t);
TYPE(titan_device_info, capability_minor, int32_t);
TYPE(titan_device_info, memory_bytes, uint64_t);
TYPE(titan_device_info, driver_version, int32_t);
TYPE(titan_device_info, cublaslt_version, int32_t);

TYPE(titan_create_info, struct_size, uint32_t);
TYPE(titan_create_info, flags, uint32_t);
TYPE(titan_create_info, instance, titan_string);
TYPE(titan_create_info, device, const titan_device_info *);
TYPE(titan_create_info, tokens_per_call, int64_t);
TYPE(titan_create_info, compute_dtype, titan_dl_dtype);
TYPE(titan_create_info, parameter_dtype, titan_dl_dtype);

TYPE(titan_hook_info, struct_size, uint32_t);
TYPE(titan_hook_info, reason, int32_t);
TYPE(titan_hook_info, step, int64_t);
TYPE(titan_hook_info, device, titan_dl_device);
TYPE(titan_hook_info, stream, void *);

TYPE(titan_hook_tensor, struct_size, uint32_t);
TYPE(titan_hook_tensor, flags, uint32_t);
TYPE(titan_hook_tensor, fqn, titan_string);
TYPE(titan_hook_tensor, tensor, titan_tensor *);
TYPE(titan_hook_tensor, global_shape, const int64_t *);
TYPE(titan_hook_tensor, offset, const int64_t *);
TYPE(titan_hook_tensor, ndim, int32_t);
TYPE(titan_hook_tensor, reserved, uint32_t);

TYPE(titan_converter, struct_size, uint32_t);
TYPE(titan_converter, flags, uint32_t);
TYPE(titan_converter, name, titan_string);
TYPE(titan_converter, create, titan_status (*)(titan_create *context, void **instance));
TYPE(titan_converter, convert, titan_status (*)(void *instance, titan_model *model));
TYPE(titan_converter, after_init, titan_status (*)(void *instance, titan_hook *hook));
TYPE(titan_converter, post_optimizer_hook, titan_status (*)(void *instance, titan_hook *hook));
TYPE(titan_converter, destroy, void (*)(void *instance));

TYPE(titan_host, struct_size, uint32_t);
TYPE(titan_host, api_level, uint32_t);
TYPE(titan_host, set_error,
     titan_status (*)(titan_status status, titan_string message, titan_string hint));
TYPE(titan_host, get_extension, const void *(*)(titan_string id));
TYPE(titan_host, log, void (*)(int32_t level, titan_string message));
TYPE(titan_host, registrar_note,
     titan_status (*)(titan_registrar *, const void *json, uint64_t size));
TYPE(titan_host, registrar_converter,
     titan_status (*)(titan_registrar *, const titan_converter *converter));
TYPE(titan_host, create_info, titan_status (*)(titan_create *, titan_create_info *out));
TYPE(titan_host, option_count, titan_status (*)(titan_create *, titan_string name, uint64_t *out));
TYPE(titan_host, option_bool,
     titan_status (*)(titan_create *, titan_string name, uint64_t index, int32_t *out));
TYPE(titan_host, option_int,
     titan_status (*)(titan_create *, titan_string name, uint64_t index, int64_t *out));
TYPE(titan_host, option_float,
     titan_status (*)(titan_create *, titan_string name, uint64_t index, double *out));
TYPE(titan_host, option_string,
     titan_status (*)(titan_create *, titan_string name, uint64_t index, titan_string *out));
TYPE(titan_host, model_module_count, titan_status (*)(titan_model *, uint64_t *out));
TYPE(titan_host, model_module,
     titan_status (*)(titan_model *, uint64_t module, titan_module_info *out));
TYPE(titan_host, model_find, titan_status (*)(titan_model *, titan_string fqn, uint64_t *out));
TYPE(titan_host, model_attribute,
     titan_status (*)(titan_model *, uint64_t module, titan_string name, double *out));
TYPE(titan_host, model_parameter,
     titan_status (*)(titan_model *, uint64_t module, uint64_t index, titan_parameter_info *out));
TYPE(titan_host, record_replace,
     titan_status (*)(titan_model *, uint64_t module, const titan_module_impl *impl, void *self));
TYPE(titan_host, record_wrap,
     titan_status (*)(titan_model *, uint64_t module, int32_t where, const titan_module_impl *impl,
                      void *self));
TYPE(titan_host, record_observe,
     titan_status (*)(titan_model *, uint64_t module, const titan_observer *observer, void *self));
TYPE(titan_host, record_parameter,
     titan_status (*)(titan_model *, uint64_t module, const titan_tensor_spec *spec));
TYPE(titan_host, record_buffer,
     titan_status (*)(titan_model *, uint64_t module, const titan_tensor_spec *spec));
TYPE(titan_host, record_freeze,
     titan_status (*)(titan_model *, uint64_t module, titan_string parameter));
TYPE(titan_host, record_tie,
     titan_status (*)(titan_model *, uint64_t module, titan_string parameter, uint64_t other,
                      titan_string other_parameter));
TYPE(titan_host, record_keep,
     titan_status (*)(titan_model *, uint64_t module, titan_string reason));
TYPE(titan_host, call_info, titan_status (*)(titan_call *, titan_call_info *out));
TYPE(titan_host, call_get,
     titan_status (*)(titan_call *, titan_string name, titan_tensor **borrowed));
TYPE(titan_host, call_set, titan_status (*)(titan_call *, titan_string name, titan_tensor *owned));
TYPE(titan_host, call_save, titan_status (*)(titan_call *, titan_tensor *borrowed));
TYPE(titan_host, call_saved,
     titan_status (*)(titan_call *, uint64_t index, titan_tensor **borrowed));
TYPE(titan_host, call_grad_output, titan_status (*)(titan_call *, titan_tensor **borrowed));
TYPE(titan_host, call_needs_grad, titan_status (*)(titan_call *, titan_string name, int32_t *out));
TYPE(titan_host, call_set_grad,
     titan_status (*)(titan_call *, titan_string name, titan_tensor *owned));
TYPE(titan_host, call_metric, titan_status (*)(titan_call *, titan_string name, double value));
TYPE(titan_host, tensor_info, titan_status (*)(const titan_tensor *, titan_tensor_info *out));
TYPE(titan_host, tensor_dl, titan_status (*)(titan_tensor *, const titan_dl_tensor **borrowed));
TYPE(titan_host, tensor_empty,
     titan_status (*)(titan_dl_device device, titan_dl_dtype dtype, int32_t ndim,
                      const int64_t *shape, titan_tensor **owned));
TYPE(titan_host, tensor_from_dl,
     titan_status (*)(titan_dl_managed_tensor *owned, titan_tensor **out));
TYPE(titan_host, tensor_release, void (*)(titan_tensor *owned));
TYPE(titan_host, hook_info, titan_status (*)(titan_hook *, titan_hook_info *out));
TYPE(titan_host, hook_count, titan_status (*)(titan_hook *, uint64_t *out));
TYPE(titan_host, hook_tensor,
     titan_status (*)(titan_hook *, uint64_t index, titan_hook_tensor *out));
TYPE(titan_host, hook_find,
     titan_status (*)(titan_hook *, titan_string fqn, titan_hook_tensor *out));
TYPE(titan_host, hook_metric, titan_status (*)(titan_hook *, titan_string name, double value));
TYPE(titan_host, record_layout,
     titan_status (*)(titan_model *, uint64_t module, const titan_layout *layout));
TYPE(titan_host, record_prediction,
     titan_status (*)(titan_model *, uint64_t module, const titan_prediction *prediction));
TYPE(titan_host, call_grad_accumulator,
     titan_status (*)(titan_call *, titan_string parameter, titan_tensor **borrowed));
TYPE(titan_host, call_grad_accumulated, titan_status (*)(titan_call *, titan_string parameter));

TYPE(titan_torch_tensor, struct_size, uint32_t);
TYPE(titan_torch_tensor, reserved, uint32_t);
TYPE(titan_torch_tensor, to_handle,
     titan_status (*)(const titan_tensor *borrowed, struct AtenTensorOpaque **owned));
TYPE(titan_torch_tensor, from_handle,
     titan_status (*)(struct AtenTensorOpaque *owned, titan_tensor **out));
