/// titan_tensor, the handle behind which plugins see tensors: the host's side.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <string>
#include <vector>

#include "titan/host.h"

struct titan_tensor {
  uint64_t magic = 0;  ///< kLiveTensor while in use; anything else is a stale or foreign pointer
  bool owned = false;  ///< the plugin must hand it on or release it
  at::Tensor tensor;
  uint64_t version = 0;
  std::vector<int64_t> shape, strides;
  titan_dl_tensor view{};
};

namespace titan::converters {

/// A handle for a tensor the plugin may look at until the arena dies.
class TensorArena {
 public:
  TensorArena() = default;
  TensorArena(const TensorArena&) = delete;
  TensorArena& operator=(const TensorArena&) = delete;
  ~TensorArena() { clear(); }
  /// Every handle it gave out is dead from here on.
  void clear();
  titan_tensor* borrow(const at::Tensor& tensor, uint64_t version = 0);

 private:
  std::vector<titan_tensor*> handles_;
};

/// A handle the plugin owns.
titan_tensor* make_owned(at::Tensor tensor);
/// Tensors that plugins own right now: made, and neither handed on nor released.
int64_t owned_tensor_count();
/// Whether `handle` is alive. Dead handles stay readable: they are kept, not freed, and used again
/// only after many others, so a stale one is recognised instead of followed.
bool is_live(const titan_tensor* handle);
/// Takes the tensor out of an owned handle and retires it.
at::Tensor take(titan_tensor* owned);

titan_dl_dtype to_dl_dtype(at::ScalarType type);
/// False if LibTorch has no such type.
bool to_scalar_type(titan_dl_dtype dtype, at::ScalarType* out);
std::string dtype_name(titan_dl_dtype dtype);
titan_dl_device to_dl_device(at::Device device);

/// Slots of the host table.
titan_status c_tensor_info(const titan_tensor*, titan_tensor_info* out);
titan_status c_tensor_dl(titan_tensor*, const titan_dl_tensor** borrowed);
titan_status c_tensor_empty(titan_dl_device, titan_dl_dtype, int32_t ndim, const int64_t* shape,
                            titan_tensor** owned);
titan_status c_tensor_from_dl(titan_dl_managed_tensor* owned, titan_tensor** out);
void c_tensor_release(titan_tensor* owned);
/// Table of titan.torch_tensor/1.
const void* torch_tensor_extension();

}  // namespace titan::converters
