/* Tensors as they cross the boundary: an opaque handle with a DLPack view. */
#ifndef TITAN_TENSOR_H
#define TITAN_TENSOR_H

#include "status.h"

TITAN_BEGIN_C

/* A tensor of the host. Handles that a call or hook hands out are borrowed: they die when the
 * plugin's function returns, and using one later is answered with TITAN_WRONG_STATE.
 * Why opaque: the same plugin then runs against every LibTorch, with no libtorch among its needs.
 */
typedef struct titan_tensor titan_tensor;

/* The following mirror DLPack 1.x in binary layout (https://dmlc.github.io/dlpack): a pointer to
 * DLTensor may be cast to titan_dl_tensor and back.
 * Why own names: both this header and <dlpack/dlpack.h> can be included, in any order. */
typedef struct titan_dl_device {
  int32_t type; /* TITAN_CPU or TITAN_CUDA */
  int32_t index;
} titan_dl_device;

#define TITAN_CPU 1
#define TITAN_CUDA 2

typedef struct titan_dl_dtype {
  uint8_t code; /* TITAN_DTYPE_... */
  uint8_t bits;
  uint16_t lanes;
} titan_dl_dtype;

#define TITAN_DTYPE_INT 0
#define TITAN_DTYPE_UINT 1
#define TITAN_DTYPE_FLOAT 2
#define TITAN_DTYPE_BFLOAT 4
#define TITAN_DTYPE_COMPLEX 5
#define TITAN_DTYPE_BOOL 6
#define TITAN_DTYPE_FLOAT8_E4M3FN 10
#define TITAN_DTYPE_FLOAT8_E5M2 12
#define TITAN_DTYPE_FLOAT8_E8M0FNU 14

typedef struct titan_dl_tensor {
  void *data;
  titan_dl_device device;
  int32_t ndim;
  titan_dl_dtype dtype;
  int64_t *shape;
  int64_t *strides; /* in elements, never in bytes; the host always fills it */
  uint64_t byte_offset;
} titan_dl_tensor;

/* DLManagedTensorVersioned: a tensor that carries its own deleter. The receiver calls the deleter
 * exactly once, on any thread; it may do so even if it does not understand `major`. */
typedef struct titan_dl_managed_tensor {
  uint32_t major;
  uint32_t minor;
  void *manager_ctx;
  void (*deleter)(struct titan_dl_managed_tensor *self);
  uint64_t flags; /* bit 0: read-only */
  titan_dl_tensor dl_tensor;
} titan_dl_managed_tensor;

/* Facts about a tensor; `shape` and `strides` live as long as the handle. */
typedef struct titan_tensor_info {
  uint32_t struct_size;
  uint32_t flags; /* TITAN_TENSOR_... */
  titan_dl_dtype dtype;
  titan_dl_device device;
  int32_t ndim;
  const int64_t *shape;
  const int64_t *strides;
  /* Rises whenever the host changes the values (optimizer step, load): key caches by it. */
  uint64_t version;
} titan_tensor_info;

#define TITAN_TENSOR_REQUIRES_GRAD 1u
#define TITAN_TENSOR_META 2u /* has shape and dtype but no data: titan_host.tensor_dl refuses */

TITAN_END_C

#endif /* TITAN_TENSOR_H */
