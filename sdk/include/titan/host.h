/* The functions of the host. One table, valid from register_converters() to process end. */
#ifndef TITAN_HOST_H
#define TITAN_HOST_H

#include "converter.h"

TITAN_BEGIN_C

/* The registrar is alive during register_converters() only. */
typedef struct titan_registrar titan_registrar;

/* Unless a comment says otherwise a function is there since API level 1, and is called on the
 * thread, and during the lifetime, of the handle it takes; `borrowed` results live as long as that
 * handle, `owned` ones are the caller's until handed on or released. `out` is written only on
 * TITAN_OK. Names are matched exactly. Why a table and not symbols: a plugin then links nothing and
 * loads into any host. */
typedef struct titan_host {
  uint32_t struct_size;
  uint32_t api_level; /* of the host */

  /* [any-thread] Slot 0 for ever. Says why the function that is about to return failed, and how to
   * cure it (may be empty). Returns `status`, so that one can write `return host->set_error(...)`.
   */
  titan_status (*set_error)(titan_status status, titan_string message, titan_string hint);
  /* [any-thread] An extension's table by id ("titan.torch_tensor/1"), or NULL. */
  const void *(*get_extension)(titan_string id);
  /* [any-thread] level: 0 debug, 1 info, 2 warning, 3 error. */
  void (*log)(int32_t level, titan_string message);

  /* --- registrar: in register_converters() --- */
  /* Hands over the plugin's note (the same bytes as in the file). Before the first converter. */
  titan_status (*registrar_note)(titan_registrar *, const void *json, uint64_t size);
  titan_status (*registrar_converter)(titan_registrar *, const titan_converter *converter);

  /* --- create --- */
  titan_status (*create_info)(titan_create *, titan_create_info *out);
  /* Options by their schema name; the host has checked type and range and filled in defaults.
   * index: position in a list, 0 for a scalar. Strings live until create() returns. */
  titan_status (*option_count)(titan_create *, titan_string name, uint64_t *out);
  titan_status (*option_bool)(titan_create *, titan_string name, uint64_t index, int32_t *out);
  titan_status (*option_int)(titan_create *, titan_string name, uint64_t index, int64_t *out);
  titan_status (*option_float)(titan_create *, titan_string name, uint64_t index, double *out);
  titan_status (*option_string)(titan_create *, titan_string name, uint64_t index,
                                titan_string *out);

  /* --- model: read --- */
  titan_status (*model_module_count)(titan_model *, uint64_t *out);
  titan_status (*model_module)(titan_model *, uint64_t module, titan_module_info *out);
  titan_status (*model_find)(titan_model *, titan_string fqn, uint64_t *out);
  titan_status (*model_attribute)(titan_model *, uint64_t module, titan_string name, double *out);
  titan_status (*model_parameter)(titan_model *, uint64_t module, uint64_t index,
                                  titan_parameter_info *out);
  /* --- model: record. Nothing changes until all instances have recorded and the union is checked.
   * `impl`/`observer` are copied; `self` passes to the host on TITAN_OK. --- */
  titan_status (*record_replace)(titan_model *, uint64_t module, const titan_module_impl *impl,
                                 void *self);
  /* where: TITAN_WRAP_BEFORE sets a new first input (its name, e.g. "x") before the module runs;
   * TITAN_WRAP_AFTER makes a new "y" from the arguments and the module's "y". Several wraps of a
   * module nest in list order, the first innermost. */
  titan_status (*record_wrap)(titan_model *, uint64_t module, int32_t where,
                              const titan_module_impl *impl, void *self);
  titan_status (*record_observe)(titan_model *, uint64_t module, const titan_observer *observer,
                                 void *self);
  titan_status (*record_parameter)(titan_model *, uint64_t module, const titan_tensor_spec *spec);
  titan_status (*record_buffer)(titan_model *, uint64_t module, const titan_tensor_spec *spec);
  titan_status (*record_freeze)(titan_model *, uint64_t module, titan_string parameter);
  /* Makes `parameter` of `module` the same tensor as `other_parameter` of `other`. */
  titan_status (*record_tie)(titan_model *, uint64_t module, titan_string parameter, uint64_t other,
                             titan_string other_parameter);
  /* Says why a selected module stays as it is; shown to the user. */
  titan_status (*record_keep)(titan_model *, uint64_t module, titan_string reason);

  /* --- call --- */
  titan_status (*call_info)(titan_call *, titan_call_info *out);
  titan_status (*call_get)(titan_call *, titan_string name, titan_tensor **borrowed);
  titan_status (*call_set)(titan_call *, titan_string name, titan_tensor *owned);
  /* Keeps a tensor for backward; autograd owns it. Read back in backward by order of saving. */
  titan_status (*call_save)(titan_call *, titan_tensor *borrowed);
  titan_status (*call_saved)(titan_call *, uint64_t index, titan_tensor **borrowed);
  /* backward: gradient of the output, and gradients of arguments. */
  titan_status (*call_grad_output)(titan_call *, titan_tensor **borrowed);
  titan_status (*call_needs_grad)(titan_call *, titan_string name, int32_t *out);
  titan_status (*call_set_grad)(titan_call *, titan_string name, titan_tensor *owned);
  /* A number for the metrics of this step: `<instance>/<fqn>.<name>`; the last value wins. Names
   * are printable ASCII without quotes, backslashes and blanks, at most 128 bytes. */
  titan_status (*call_metric)(titan_call *, titan_string name, double value);

  /* --- tensors --- */
  titan_status (*tensor_info)(const titan_tensor *, titan_tensor_info *out);
  /* The DLPack view of a tensor that has data; lives as long as the handle. */
  titan_status (*tensor_dl)(titan_tensor *, const titan_dl_tensor **borrowed);
  /* [any-thread] A new contiguous tensor, uninitialised; owned by the caller. */
  titan_status (*tensor_empty)(titan_dl_device device, titan_dl_dtype dtype, int32_t ndim,
                               const int64_t *shape, titan_tensor **owned);
  /* [any-thread] Wraps memory of the plugin; the host calls the deleter when done, also on failure.
   */
  titan_status (*tensor_from_dl)(titan_dl_managed_tensor *owned, titan_tensor **out);
  /* [any-thread] Drops an owned tensor that was not handed on. NULL is allowed. */
  void (*tensor_release)(titan_tensor *owned);

  /* --- hook --- */
  titan_status (*hook_info)(titan_hook *, titan_hook_info *out);
  titan_status (*hook_count)(titan_hook *, uint64_t *out);
  titan_status (*hook_tensor)(titan_hook *, uint64_t index, titan_hook_tensor *out);
  titan_status (*hook_find)(titan_hook *, titan_string fqn, titan_hook_tensor *out);
  titan_status (*hook_metric)(titan_hook *, titan_string name, double value);

  /* --- model: record, continued --- */
  /* Moves stock parameters of `module`, which this instance must replace, into one new parameter.
   */
  titan_status (*record_layout)(titan_model *, uint64_t module, const titan_layout *layout);

#if TITAN_API_VERSION >= 2
  /* --- since level 2. A table of level 1 ends here: a plugin with `api_min` 1 compares struct_size
   * before it uses one of these (in C++ titan::sdk::host_has). --- */
  /* Says how fast `module`, which this instance has recorded to replace or wrap, will be and what
   * it will hold; once for each. Shown by `titan plan` and `titan estimate`. */
  titan_status (*record_prediction)(titan_model *, uint64_t module,
                                    const titan_prediction *prediction);
  /* backward: the sum of the gradients that earlier micro-batches gave `parameter`: contiguous, in
   * the parameter's shape and own type. Adding to it in place saves a gradient's memory and a pass
   * over it; say so with call_grad_accumulated, else set a gradient and leave it as it is. NULL,
   * with TITAN_OK, where there is none: in the first micro-batch of a step, for a parameter that
   * needs no gradient, or where the sum shares its memory with other tensors. */
  titan_status (*call_grad_accumulator)(titan_call *, titan_string parameter,
                                        titan_tensor **borrowed);
  /* The gradient of `parameter` has been added, whole, to what call_grad_accumulator gave in this
   * call; takes the place of call_set_grad. */
  titan_status (*call_grad_accumulated)(titan_call *, titan_string parameter);
#endif
} titan_host;

TITAN_END_C

#endif /* TITAN_HOST_H */
