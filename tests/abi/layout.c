/* The layout of every struct that crosses the boundary and the value of every constant, frozen per
 * API level: TITAN_API_VERSION says which one is compiled, as C and as C++. A failing line means
 * that plugins already built would break: append fields instead (rule T-9) and add lines here;
 * never change one. */
#include <stddef.h>
#include <titan/ext/torch_tensor.h>
#include <titan/titan_sdk.h>

#ifdef __cplusplus
#define HOLDS(condition) static_assert(condition, #condition)
#else
#define HOLDS(condition) _Static_assert(condition, #condition)
#endif
#define SIZE(type, size) HOLDS(sizeof(type) == (size))
#define FIELD(type, field, offset, size) \
  HOLDS(offsetof(type, field) == (offset) && sizeof(((type *)0)->field) == (size))

SIZE(titan_string, 16);
FIELD(titan_string, data, 0, 8);
FIELD(titan_string, size, 8, 8);

SIZE(titan_dl_device, 8);
FIELD(titan_dl_device, type, 0, 4);
FIELD(titan_dl_device, index, 4, 4);

SIZE(titan_dl_dtype, 4);
FIELD(titan_dl_dtype, code, 0, 1);
FIELD(titan_dl_dtype, bits, 1, 1);
FIELD(titan_dl_dtype, lanes, 2, 2);

SIZE(titan_dl_tensor, 48);
FIELD(titan_dl_tensor, data, 0, 8);
FIELD(titan_dl_tensor, device, 8, 8);
FIELD(titan_dl_tensor, ndim, 16, 4);
FIELD(titan_dl_tensor, dtype, 20, 4);
FIELD(titan_dl_tensor, shape, 24, 8);
FIELD(titan_dl_tensor, strides, 32, 8);
FIELD(titan_dl_tensor, byte_offset, 40, 8);

SIZE(titan_dl_managed_tensor, 80);
FIELD(titan_dl_managed_tensor, major, 0, 4);
FIELD(titan_dl_managed_tensor, minor, 4, 4);
FIELD(titan_dl_managed_tensor, manager_ctx, 8, 8);
FIELD(titan_dl_managed_tensor, deleter, 16, 8);
FIELD(titan_dl_managed_tensor, flags, 24, 8);
FIELD(titan_dl_managed_tensor, dl_tensor, 32, 48);

SIZE(titan_tensor_info, 48);
FIELD(titan_tensor_info, struct_size, 0, 4);
FIELD(titan_tensor_info, flags, 4, 4);
FIELD(titan_tensor_info, dtype, 8, 4);
FIELD(titan_tensor_info, device, 12, 8);
FIELD(titan_tensor_info, ndim, 20, 4);
FIELD(titan_tensor_info, shape, 24, 8);
FIELD(titan_tensor_info, strides, 32, 8);
FIELD(titan_tensor_info, version, 40, 8);

SIZE(titan_module_info, 48);
FIELD(titan_module_info, struct_size, 0, 4);
FIELD(titan_module_info, flags, 4, 4);
FIELD(titan_module_info, fqn, 8, 16);
FIELD(titan_module_info, kind, 24, 16);
FIELD(titan_module_info, parameter_count, 40, 8);

SIZE(titan_parameter_info, 40);
FIELD(titan_parameter_info, struct_size, 0, 4);
FIELD(titan_parameter_info, flags, 4, 4);
FIELD(titan_parameter_info, name, 8, 16);
FIELD(titan_parameter_info, shape, 24, 8);
FIELD(titan_parameter_info, ndim, 32, 4);
FIELD(titan_parameter_info, dtype, 36, 4);

SIZE(titan_init_rule, 40);
FIELD(titan_init_rule, struct_size, 0, 4);
FIELD(titan_init_rule, rule, 4, 4);
FIELD(titan_init_rule, a, 8, 8);
FIELD(titan_init_rule, b, 16, 8);
FIELD(titan_init_rule, source, 24, 16);

SIZE(titan_layout_part, 48);
FIELD(titan_layout_part, struct_size, 0, 4);
FIELD(titan_layout_part, slice_dim, 4, 4);
FIELD(titan_layout_part, source, 8, 16);
FIELD(titan_layout_part, slice_start, 24, 8);
FIELD(titan_layout_part, slice_length, 32, 8);
FIELD(titan_layout_part, permutation, 40, 8);

SIZE(titan_layout, 40);
FIELD(titan_layout, struct_size, 0, 4);
FIELD(titan_layout, concat_dim, 4, 4);
FIELD(titan_layout, name, 8, 16);
FIELD(titan_layout, parts, 24, 8);
FIELD(titan_layout, part_count, 32, 8);

#if TITAN_API_VERSION >= 2
SIZE(titan_prediction, 64);
FIELD(titan_prediction, struct_size, 0, 4);
FIELD(titan_prediction, flags, 4, 4);
FIELD(titan_prediction, speedup, 8, 8);
FIELD(titan_prediction, tokens, 16, 8);
FIELD(titan_prediction, basis, 24, 16);
FIELD(titan_prediction, saved_bytes, 40, 8);
FIELD(titan_prediction, working_bytes, 48, 8);
FIELD(titan_prediction, cache_bytes, 56, 8);
#endif

SIZE(titan_tensor_spec, 48);
FIELD(titan_tensor_spec, struct_size, 0, 4);
FIELD(titan_tensor_spec, flags, 4, 4);
FIELD(titan_tensor_spec, name, 8, 16);
FIELD(titan_tensor_spec, shape, 24, 8);
FIELD(titan_tensor_spec, ndim, 32, 4);
FIELD(titan_tensor_spec, dtype, 36, 4);
FIELD(titan_tensor_spec, init, 40, 8);

SIZE(titan_call_info, 64);
FIELD(titan_call_info, struct_size, 0, 4);
FIELD(titan_call_info, flags, 4, 4);
FIELD(titan_call_info, fqn, 8, 16);
FIELD(titan_call_info, step, 24, 8);
FIELD(titan_call_info, micro_batch, 32, 8);
FIELD(titan_call_info, device, 40, 8);
FIELD(titan_call_info, compute_dtype, 48, 4);
FIELD(titan_call_info, stream, 56, 8);

SIZE(titan_module_impl, 40);
FIELD(titan_module_impl, struct_size, 0, 4);
FIELD(titan_module_impl, flags, 4, 4);
FIELD(titan_module_impl, forward, 8, 8);
FIELD(titan_module_impl, backward, 16, 8);
FIELD(titan_module_impl, drop, 24, 8);
FIELD(titan_module_impl, destroy, 32, 8);

SIZE(titan_observer, 24);
FIELD(titan_observer, struct_size, 0, 4);
FIELD(titan_observer, flags, 4, 4);
FIELD(titan_observer, observe, 8, 8);
FIELD(titan_observer, destroy, 16, 8);

SIZE(titan_device_info, 48);
FIELD(titan_device_info, struct_size, 0, 4);
FIELD(titan_device_info, type, 4, 4);
FIELD(titan_device_info, name, 8, 16);
FIELD(titan_device_info, capability_major, 24, 4);
FIELD(titan_device_info, capability_minor, 28, 4);
FIELD(titan_device_info, memory_bytes, 32, 8);
FIELD(titan_device_info, driver_version, 40, 4);
FIELD(titan_device_info, cublaslt_version, 44, 4);

SIZE(titan_create_info, TITAN_API_VERSION >= 2 ? 48 : 32);
FIELD(titan_create_info, struct_size, 0, 4);
FIELD(titan_create_info, flags, 4, 4);
FIELD(titan_create_info, instance, 8, 16);
FIELD(titan_create_info, device, 24, 8);
#if TITAN_API_VERSION >= 2
FIELD(titan_create_info, tokens_per_call, 32, 8);
FIELD(titan_create_info, compute_dtype, 40, 4);
FIELD(titan_create_info, parameter_dtype, 44, 4);
#endif

SIZE(titan_hook_info, TITAN_API_VERSION >= 2 ? 32 : 16);
FIELD(titan_hook_info, struct_size, 0, 4);
FIELD(titan_hook_info, reason, 4, 4);
FIELD(titan_hook_info, step, 8, 8);
#if TITAN_API_VERSION >= 2
FIELD(titan_hook_info, device, 16, 8);
FIELD(titan_hook_info, stream, 24, 8);
#endif

SIZE(titan_hook_tensor, 56);
FIELD(titan_hook_tensor, struct_size, 0, 4);
FIELD(titan_hook_tensor, flags, 4, 4);
FIELD(titan_hook_tensor, fqn, 8, 16);
FIELD(titan_hook_tensor, tensor, 24, 8);
FIELD(titan_hook_tensor, global_shape, 32, 8);
FIELD(titan_hook_tensor, offset, 40, 8);
FIELD(titan_hook_tensor, ndim, 48, 4);
FIELD(titan_hook_tensor, reserved, 52, 4);

SIZE(titan_converter, 64);
FIELD(titan_converter, struct_size, 0, 4);
FIELD(titan_converter, flags, 4, 4);
FIELD(titan_converter, name, 8, 16);
FIELD(titan_converter, create, 24, 8);
FIELD(titan_converter, convert, 32, 8);
FIELD(titan_converter, after_init, 40, 8);
FIELD(titan_converter, post_optimizer_hook, 48, 8);
FIELD(titan_converter, destroy, 56, 8);

SIZE(titan_host, TITAN_API_VERSION >= 2 ? 384 : 360);
FIELD(titan_host, struct_size, 0, 4);
FIELD(titan_host, api_level, 4, 4);
FIELD(titan_host, set_error, 8, 8);
FIELD(titan_host, get_extension, 16, 8);
FIELD(titan_host, log, 24, 8);
FIELD(titan_host, registrar_note, 32, 8);
FIELD(titan_host, registrar_converter, 40, 8);
FIELD(titan_host, create_info, 48, 8);
FIELD(titan_host, option_count, 56, 8);
FIELD(titan_host, option_bool, 64, 8);
FIELD(titan_host, option_int, 72, 8);
FIELD(titan_host, option_float, 80, 8);
FIELD(titan_host, option_string, 88, 8);
FIELD(titan_host, model_module_count, 96, 8);
FIELD(titan_host, model_module, 104, 8);
FIELD(titan_host, model_find, 112, 8);
FIELD(titan_host, model_attribute, 120, 8);
FIELD(titan_host, model_parameter, 128, 8);
FIELD(titan_host, record_replace, 136, 8);
FIELD(titan_host, record_wrap, 144, 8);
FIELD(titan_host, record_observe, 152, 8);
FIELD(titan_host, record_parameter, 160, 8);
FIELD(titan_host, record_buffer, 168, 8);
FIELD(titan_host, record_freeze, 176, 8);
FIELD(titan_host, record_tie, 184, 8);
FIELD(titan_host, record_keep, 192, 8);
FIELD(titan_host, call_info, 200, 8);
FIELD(titan_host, call_get, 208, 8);
FIELD(titan_host, call_set, 216, 8);
FIELD(titan_host, call_save, 224, 8);
FIELD(titan_host, call_saved, 232, 8);
FIELD(titan_host, call_grad_output, 240, 8);
FIELD(titan_host, call_needs_grad, 248, 8);
FIELD(titan_host, call_set_grad, 256, 8);
FIELD(titan_host, call_metric, 264, 8);
FIELD(titan_host, tensor_info, 272, 8);
FIELD(titan_host, tensor_dl, 280, 8);
FIELD(titan_host, tensor_empty, 288, 8);
FIELD(titan_host, tensor_from_dl, 296, 8);
FIELD(titan_host, tensor_release, 304, 8);
FIELD(titan_host, hook_info, 312, 8);
FIELD(titan_host, hook_count, 320, 8);
FIELD(titan_host, hook_tensor, 328, 8);
FIELD(titan_host, hook_find, 336, 8);
FIELD(titan_host, hook_metric, 344, 8);
FIELD(titan_host, record_layout, 352, 8);
#if TITAN_API_VERSION >= 2
FIELD(titan_host, record_prediction, 360, 8);
FIELD(titan_host, call_grad_accumulator, 368, 8);
FIELD(titan_host, call_grad_accumulated, 376, 8);
#endif

SIZE(titan_torch_tensor, 24);
FIELD(titan_torch_tensor, struct_size, 0, 4);
FIELD(titan_torch_tensor, reserved, 4, 4);
FIELD(titan_torch_tensor, to_handle, 8, 8);
FIELD(titan_torch_tensor, from_handle, 16, 8);

HOLDS(TITAN_OK == 0);
HOLDS(TITAN_INVALID_ARGUMENT == 1);
HOLDS(TITAN_UNSUPPORTED == 2);
HOLDS(TITAN_NOT_FOUND == 3);
HOLDS(TITAN_WRONG_STATE == 4);
HOLDS(TITAN_FAILED == 5);
HOLDS(TITAN_INTERNAL == 6);
HOLDS(TITAN_REMOVED == 7);
HOLDS(TITAN_CPU == 1);
HOLDS(TITAN_CUDA == 2);
HOLDS(TITAN_DTYPE_INT == 0);
HOLDS(TITAN_DTYPE_UINT == 1);
HOLDS(TITAN_DTYPE_FLOAT == 2);
HOLDS(TITAN_DTYPE_BFLOAT == 4);
HOLDS(TITAN_DTYPE_COMPLEX == 5);
HOLDS(TITAN_DTYPE_BOOL == 6);
HOLDS(TITAN_DTYPE_FLOAT8_E4M3FN == 10);
HOLDS(TITAN_DTYPE_FLOAT8_E5M2 == 12);
HOLDS(TITAN_DTYPE_FLOAT8_E8M0FNU == 14);
HOLDS(TITAN_TENSOR_REQUIRES_GRAD == 1u);
HOLDS(TITAN_TENSOR_META == 2u);
HOLDS(TITAN_MODULE_SELECTED == 1u);
HOLDS(TITAN_PARAMETER_FROZEN == 1u);
HOLDS(TITAN_INIT_CONSTANT == 0);
HOLDS(TITAN_INIT_NORMAL == 1);
HOLDS(TITAN_INIT_UNIFORM == 2);
HOLDS(TITAN_INIT_KAIMING_UNIFORM == 3);
HOLDS(TITAN_INIT_COPY == 4);
HOLDS(TITAN_SPEC_NON_PERSISTENT == 1u);
HOLDS(TITAN_SPEC_REDUCE_MAX == 2u);
HOLDS(TITAN_DTYPE_OF_MODEL == 255);
HOLDS(TITAN_CALL_TRAINING == 1u);
HOLDS(TITAN_CALL_GRAD_ENABLED == 2u);
HOLDS(TITAN_CALL_RECOMPUTE == 4u);
HOLDS(TITAN_CALL_BACKWARD == 8u);
HOLDS(TITAN_WRAP_BEFORE == 0);
HOLDS(TITAN_WRAP_AFTER == 1);
HOLDS(TITAN_IMPL_TORCH_AUTOGRAD == 1u);
HOLDS(TITAN_IMPL_POSITIONS == 2u);
HOLDS(TITAN_IMPL_DOCUMENT_IDS == 4u);
HOLDS(TITAN_HOOK_FRESH == 0);
HOLDS(TITAN_HOOK_LOADED == 1);
HOLDS(TITAN_HOOK_STEP == 2);
HOLDS(TITAN_HOOK_TENSOR_BUFFER == 1u);
HOLDS(TITAN_HOOK_TENSOR_MISSING == 2u);
HOLDS(TITAN_NOTE_TYPE == 1u);
