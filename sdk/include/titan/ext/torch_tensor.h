/* Extension titan.torch_tensor/1: tensors as handles of torch's stable C ABI. Since API level 1. */
#ifndef TITAN_EXT_TORCH_TENSOR_H
#define TITAN_EXT_TORCH_TENSOR_H

#include "../tensor.h"

#define TITAN_EXT_TORCH_TENSOR "titan.torch_tensor/1"

TITAN_BEGIN_C

struct AtenTensorOpaque; /* torch/csrc/inductor/aoti_torch/c/shim.h: AtenTensorHandle points to it
                          */

typedef struct titan_torch_tensor {
  uint32_t struct_size;
  uint32_t reserved;
  /* [any-thread] A new reference to the same tensor, owned by the caller. torch::stable::Tensor(h)
   * takes it over; otherwise aoti_torch_delete_tensor_object frees it. */
  titan_status (*to_handle)(const titan_tensor *borrowed, struct AtenTensorOpaque **owned);
  /* [any-thread] Takes the handle over, also on failure. */
  titan_status (*from_handle)(struct AtenTensorOpaque *owned, titan_tensor **out);
} titan_torch_tensor;

TITAN_END_C

#endif /* TITAN_EXT_TORCH_TENSOR_H */
