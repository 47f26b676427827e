/* A converter: what a plugin registers and the host applies when the config names it. */
#ifndef TITAN_CONVERTER_H
#define TITAN_CONVERTER_H

#include "call.h"

TITAN_BEGIN_C

/* The context of create(): the instance's name, its options and the device. Dies on return. */
typedef struct titan_create titan_create;

typedef struct titan_device_info {
  uint32_t struct_size;
  int32_t type; /* TITAN_CPU or TITAN_CUDA: where the model will run */
  titan_string name;
  int32_t capability_major; /* CUDA compute capability; 0.0 on the CPU */
  int32_t capability_minor;
  uint64_t memory_bytes;
  int32_t driver_version;   /* CUDA driver, 13000 for 13.0; 0 when there is none */
  int32_t cublaslt_version; /* cublasLtGetVersion(), 130100 for 13.1.0; 0 when not found */
} titan_device_info;

typedef struct titan_create_info {
  uint32_t struct_size;
  uint32_t flags;        /* 0 */
  titan_string instance; /* the name this instance has in the config: "float8", "f8_mlp" */
  const titan_device_info *device; /* lives until create() returns */
#if TITAN_API_VERSION >= 2
  /* Zero where the host does not know, as one of level 1 does not. */
  int64_t
      tokens_per_call; /* of one forward call of the model: training.local_batch_size * seq_len */
  titan_dl_dtype
      compute_dtype; /* what linears compute in: titan_call_info.compute_dtype of theirs */
  titan_dl_dtype parameter_dtype; /* what the model's parameters are kept in */
#endif
} titan_create_info;

/* The context of after_init() and post_optimizer_hook(): parameters and buffers with values, the
 * local shard of each with its place in the whole tensor. Dies on return. */
typedef struct titan_hook titan_hook;

typedef struct titan_hook_info {
  uint32_t struct_size;
  int32_t reason; /* TITAN_HOOK_... */
  int64_t step;   /* optimizer steps done so far */
#if TITAN_API_VERSION >= 2
  titan_dl_device device; /* of the hook's tensors; type 0 on a host of level 1 */
  void *stream; /* CUDA: the cudaStream_t to launch on (NULL is the default stream); NULL on the CPU
                 */
#endif
} titan_hook_info;

#define TITAN_HOOK_FRESH 0  /* weights were initialised */
#define TITAN_HOOK_LOADED 1 /* weights were loaded */
#define TITAN_HOOK_STEP 2   /* an optimizer step was done; never called for a skipped step */

typedef struct titan_hook_tensor {
  uint32_t struct_size;
  uint32_t flags;       /* TITAN_HOOK_TENSOR_... */
  titan_string fqn;     /* stock: "layers.0.attention.wq.weight"; yours: "<module>.<name>" */
  titan_tensor *tensor; /* borrowed; the local shard; may be written in place */
  const int64_t *global_shape;
  const int64_t *offset; /* of the shard's first element in each dimension of the whole tensor */
  int32_t ndim;
  uint32_t reserved;
} titan_hook_tensor;

#define TITAN_HOOK_TENSOR_BUFFER 1u
#define TITAN_HOOK_TENSOR_MISSING 2u /* reason LOADED: the checkpoint did not hold it */

/* Registered once per name. The struct is copied; the functions stay valid to process end. */
typedef struct titan_converter {
  uint32_t struct_size;
  uint32_t flags;    /* 0 */
  titan_string name; /* [a-z][a-z0-9_.-]{0,63}; what model.converters lists */
  /* [main-thread] Checks options and device, allocates the instance. An unsupported device is an
   * error here (TITAN_UNSUPPORTED), before any weight exists. Optional: without it the instance
   * is NULL. All instances of a run are created before any is converted. */
  titan_status (*create)(titan_create *context, void **instance);
  /* [main-thread] Reads the stock model and records changes; applies nothing. Mandatory. */
  titan_status (*convert)(void *instance, titan_model *model);
  /* [main-thread] Optional. Weights have values now: for what init rules cannot say. */
  titan_status (*after_init)(void *instance, titan_hook *hook);
  /* [main-thread] Optional. After every optimizer step, and once after init or load. When a run
   * resumes, what the checkpoint holds is put back after that call: it can fill caches and buffers
   * that are not persistent, and cannot count twice what the saved run has counted. A converter
   * that has a hook may record nothing at all; without one, or with record_keep alone, that is an
   * error. */
  titan_status (*post_optimizer_hook)(void *instance, titan_hook *hook);
  /* [main-thread] Optional. Called once for each created instance. */
  void (*destroy)(void *instance);
} titan_converter;

TITAN_END_C

#endif /* TITAN_CONVERTER_H */
