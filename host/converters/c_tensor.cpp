#include "converters/c_tensor.h"

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/Functions.h>

#include <atomic>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>

#include "base/log.h"
#include "converters/c_support.h"
#include "titan/ext/torch_tensor.h"

namespace titan::converters {
namespace {

constexpr uint64_t kLiveTensor = 0x7469'7461'6e74'656eULL;
constexpr uint64_t kDeadTensor = 0xdead'7469'7461'6eULL;
constexpr size_t kQuarantine = 4096;  ///< handles that must die before one is used again

/// All handles ever made; retired ones wait in line. Process-wide because an owned handle may be
/// released on another thread than it was made on; never destroyed, because plugins never are.
class HandlePool {
 public:
  static HandlePool& instance() {
    static auto* pool = new HandlePool;  // NOLINT: lives to process end on purpose
    return *pool;
  }
  titan_tensor* acquire() {
    const std::lock_guard lock(mutex_);
    titan_tensor* handle;
    if (retired_.size() > kQuarantine) {
      handle = retired_.front();
      retired_.pop_front();
    } else {
      handle = all_.emplace_back(std::make_unique<titan_tensor>()).get();
    }
    handle->magic = kLiveTensor;
    return handle;
  }
  void retire(titan_tensor* handle) {
    at::Tensor last = std::move(handle->tensor);  // freed outside the lock
    handle->tensor.reset();
    handle->magic = kDeadTensor;
    const std::lock_guard lock(mutex_);
    retired_.push_back(handle);
  }

 private:
  std::mutex mutex_;
  std::deque<std::unique_ptr<titan_tensor>> all_;
  std::deque<titan_tensor*> retired_;
};

titan_tensor* make_handle(at::Tensor tensor, bool owned, uint64_t version) {
  titan_tensor* handle = HandlePool::instance().acquire();
  handle->owned = owned;
  handle->version = version;
  const auto sizes = tensor.sizes();
  const auto strides = tensor.strides();
  handle->shape.assign(sizes.begin(), sizes.end());
  handle->strides.assign(strides.begin(), strides.end());
  handle->view = {};
  handle->tensor = std::move(tensor);
  return handle;
}

titan_status stale(const char* function) {
  return fail(TITAN_WRONG_STATE,
              std::string(function) +
                  ": the tensor handle is not alive (it was handed on, released, or kept "
                  "after the call it belonged to)",
              "ask for tensors anew in every call; keep them for backward with call_save");
}

}  // namespace

void TensorArena::clear() {
  for (titan_tensor* handle : handles_) HandlePool::instance().retire(handle);
  std::vector<titan_tensor*>().swap(handles_);
}

titan_tensor* TensorArena::borrow(const at::Tensor& tensor, uint64_t version) {
  handles_.push_back(make_handle(tensor, false, version));
  return handles_.back();
}

namespace {
/// Tensors that plugins own right now.
std::atomic<int64_t> owned_tensors{0};
std::atomic<int64_t> next_warning{10000};
}  // namespace

titan_tensor* make_owned(at::Tensor tensor) {
  titan_tensor* handle = make_handle(std::move(tensor), true, 0);
  const int64_t count = ++owned_tensors;
  int64_t limit = next_warning.load();
  if (count > limit && next_warning.compare_exchange_strong(limit, 10 * limit))
    log_warning("plugins hold " + std::to_string(count) +
                " tensors that they made and neither handed on nor released (tensor_release): "
                "memory leaks");
  return handle;
}

int64_t owned_tensor_count() { return owned_tensors; }

bool is_live(const titan_tensor* handle) { return handle && handle->magic == kLiveTensor; }

at::Tensor take(titan_tensor* owned) {
  --owned_tensors;
  at::Tensor tensor = owned->tensor;
  HandlePool::instance().retire(owned);
  return tensor;
}

titan_dl_dtype to_dl_dtype(at::ScalarType type) {
  const auto make = [](uint8_t code, uint8_t bits) { return titan_dl_dtype{code, bits, 1}; };
  switch (type) {
    case at::kFloat: return make(TITAN_DTYPE_FLOAT, 32);
    case at::kDouble: return make(TITAN_DTYPE_FLOAT, 64);
    case at::kHalf: return make(TITAN_DTYPE_FLOAT, 16);
    case at::kBFloat16: return make(TITAN_DTYPE_BFLOAT, 16);
    case at::kByte: return make(TITAN_DTYPE_UINT, 8);
    case at::kChar: return make(TITAN_DTYPE_INT, 8);
    case at::kShort: return make(TITAN_DTYPE_INT, 16);
    case at::kInt: return make(TITAN_DTYPE_INT, 32);
    case at::kLong: return make(TITAN_DTYPE_INT, 64);
    case at::kBool: return make(TITAN_DTYPE_BOOL, 8);
    case at::kComplexFloat: return make(TITAN_DTYPE_COMPLEX, 64);
    case at::kFloat8_e4m3fn: return make(TITAN_DTYPE_FLOAT8_E4M3FN, 8);
    case at::kFloat8_e5m2: return make(TITAN_DTYPE_FLOAT8_E5M2, 8);
    case at::kFloat8_e8m0fnu: return make(TITAN_DTYPE_FLOAT8_E8M0FNU, 8);
    default: return make(TITAN_DTYPE_OF_MODEL, 0);
  }
}

bool to_scalar_type(titan_dl_dtype dtype, at::ScalarType* out) {
  for (at::ScalarType type :
       {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kByte, at::kChar, at::kShort,
        at::kInt, at::kLong, at::kBool, at::kComplexFloat, at::kFloat8_e4m3fn, at::kFloat8_e5m2,
        at::kFloat8_e8m0fnu}) {
    const titan_dl_dtype known = to_dl_dtype(type);
    if (known.code == dtype.code && known.bits == dtype.bits && known.lanes == dtype.lanes) {
      *out = type;
      return true;
    }
  }
  return false;
}

std::string dtype_name(titan_dl_dtype dtype) {
  at::ScalarType type;
  if (to_scalar_type(dtype, &type)) return c10::toString(type);
  return "(code " + std::to_string(dtype.code) + ", " + std::to_string(dtype.bits) + " bits, " +
         std::to_string(dtype.lanes) + " lanes)";
}

titan_dl_device to_dl_device(at::Device device) {
  return {device.is_cuda() ? TITAN_CUDA : TITAN_CPU, device.has_index() ? device.index() : 0};
}

titan_status c_tensor_info(const titan_tensor* handle, titan_tensor_info* out) {
  if (!is_live(handle)) return stale("tensor_info");
  auto info = sized<titan_tensor_info>();
  const at::Tensor& tensor = handle->tensor;
  info.flags = (tensor.requires_grad() ? TITAN_TENSOR_REQUIRES_GRAD : 0u) |
               (tensor.is_meta() ? TITAN_TENSOR_META : 0u);
  info.dtype = to_dl_dtype(tensor.scalar_type());
  info.device = to_dl_device(tensor.device());
  info.ndim = static_cast<int32_t>(handle->shape.size());
  info.shape = handle->shape.data();
  info.strides = handle->strides.data();
  info.version = handle->version;
  return copy_out(info, out, "tensor_info");
}

titan_status c_tensor_dl(titan_tensor* handle, const titan_dl_tensor** borrowed) {
  return slot([&]() -> titan_status {
    if (!is_live(handle)) return stale("tensor_dl");
    if (!borrowed) return fail(TITAN_INVALID_ARGUMENT, "tensor_dl: the result pointer is NULL");
    const at::Tensor& tensor = handle->tensor;
    if (tensor.is_meta())
      return fail(TITAN_WRONG_STATE, "tensor_dl: the tensor is on the meta device and has no data",
                  "use tensor_info for shape and type");
    titan_dl_tensor& view = handle->view;
    view.data = const_cast<void*>(tensor.const_data_ptr());  // NOLINT: DLPack has no const
    view.device = to_dl_device(tensor.device());
    view.ndim = static_cast<int32_t>(handle->shape.size());
    view.dtype = to_dl_dtype(tensor.scalar_type());
    view.shape = handle->shape.data();
    view.strides = handle->strides.data();
    view.byte_offset = 0;
    *borrowed = &view;
    return TITAN_OK;
  });
}

titan_status c_tensor_empty(titan_dl_device device, titan_dl_dtype dtype, int32_t ndim,
                            const int64_t* shape, titan_tensor** owned) {
  return slot([&]() -> titan_status {
    at::ScalarType type;
    if (!owned || ndim < 0 || ndim > 64 || (ndim > 0 && !shape))
      return fail(TITAN_INVALID_ARGUMENT, "tensor_empty: NULL pointer, or ndim not in 0..64");
    if (!to_scalar_type(dtype, &type))
      return fail(TITAN_INVALID_ARGUMENT, "tensor_empty: no element type " + dtype_name(dtype));
    int64_t bytes = static_cast<int64_t>(dtype.bits) / 8;
    for (int32_t i = 0; i < ndim; ++i)
      if (shape[i] < 0 || __builtin_mul_overflow(bytes, shape[i], &bytes))
        return fail(TITAN_INVALID_ARGUMENT,
                    "tensor_empty: a dimension is negative or the size overflows");
    if (device.type != TITAN_CPU && device.type != TITAN_CUDA)
      return fail(TITAN_INVALID_ARGUMENT, "tensor_empty: device type " +
                                              std::to_string(device.type) +
                                              " is neither TITAN_CPU nor TITAN_CUDA");
    const int64_t devices = device.type == TITAN_CUDA
                                ? (at::hasCUDA() ? static_cast<int64_t>(at::getNumGPUs()) : 0)
                                : 1;
    if (device.index < 0 || device.index >= devices)
      return fail(TITAN_UNSUPPORTED,
                  "tensor_empty: this run has no " +
                      std::string(device.type == TITAN_CUDA ? "CUDA" : "CPU") + " device " +
                      std::to_string(device.index),
                  "use the device of the call's tensors (call_info)");
    const at::Device where = device.type == TITAN_CUDA
                                 ? at::Device(at::kCUDA, static_cast<int8_t>(device.index))
                                 : at::Device(at::kCPU);
    *owned = make_owned(at::empty(at::IntArrayRef(shape, static_cast<size_t>(ndim)),
                                  at::TensorOptions().dtype(type).device(where)));
    return TITAN_OK;
  });
}

titan_status c_tensor_from_dl(titan_dl_managed_tensor* managed, titan_tensor** out) {
  if (!managed) return fail(TITAN_INVALID_ARGUMENT, "tensor_from_dl: the tensor is NULL");
  // Freed by the plugin's deleter, exactly once, whatever happens below.
  const auto release = [](titan_dl_managed_tensor* dead) {
    if (dead->deleter) dead->deleter(dead);
  };
  std::shared_ptr<titan_dl_managed_tensor> keeper(managed, release);
  return slot([&]() -> titan_status {
    if (managed->major != 1)
      return fail(TITAN_INVALID_ARGUMENT, "tensor_from_dl: DLPack major version " +
                                              std::to_string(managed->major) + ", need 1");
    const titan_dl_tensor& view = managed->dl_tensor;
    at::ScalarType type;
    if (!out || view.ndim < 0 || view.ndim > 64 || (view.ndim > 0 && !view.shape))
      return fail(TITAN_INVALID_ARGUMENT, "tensor_from_dl: NULL pointer, or ndim not in 0..64");
    if (!to_scalar_type(view.dtype, &type))
      return fail(TITAN_INVALID_ARGUMENT,
                  "tensor_from_dl: no element type " + dtype_name(view.dtype));
    if (view.device.type != TITAN_CPU)
      return fail(TITAN_UNSUPPORTED, "tensor_from_dl: only CPU memory can be wrapped",
                  "make device tensors with tensor_empty");
    std::vector<int64_t> shape(view.shape, view.shape + view.ndim);
    std::vector<int64_t> strides(shape.size());
    int64_t expected = 1, count = 1, last = 0;
    const int64_t item = view.dtype.bits / 8;
    for (int32_t i = view.ndim - 1; i >= 0; --i) {
      strides[i] = view.strides ? view.strides[i] : expected;
      int64_t reach = 0;
      if (shape[i] < 0 || strides[i] < 0 || __builtin_mul_overflow(count, shape[i], &count) ||
          __builtin_mul_overflow(shape[i] > 0 ? shape[i] - 1 : 0, strides[i], &reach) ||
          __builtin_add_overflow(last, reach, &last) ||
          last > std::numeric_limits<int64_t>::max() / 16 ||
          count > std::numeric_limits<int64_t>::max() / 16)
        return fail(TITAN_INVALID_ARGUMENT,
                    "tensor_from_dl: a dimension or stride is negative, or the size overflows");
      expected = count;
    }
    char* data = static_cast<char*>(view.data) + view.byte_offset;
    if (count > 0 && !view.data)
      return fail(TITAN_INVALID_ARGUMENT, "tensor_from_dl: data is NULL");
    if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(item > 0 ? item : 1) != 0)
      return fail(TITAN_INVALID_ARGUMENT,
                  "tensor_from_dl: data is not aligned to the element size");
    at::Tensor tensor = at::from_blob(
        data, shape, strides, [keeper](void*) {}, at::TensorOptions().dtype(type).device(at::kCPU));
    constexpr uint64_t kReadOnly = 1;
    *out = make_owned(managed->flags & kReadOnly ? tensor.clone() : std::move(tensor));
    return TITAN_OK;
  });
}

void c_tensor_release(titan_tensor* owned) {
  if (is_live(owned) && owned->owned) take(owned);
}

namespace {

titan_status to_handle(const titan_tensor* handle, AtenTensorOpaque** owned) {
  if (!is_live(handle)) return stale("torch_tensor.to_handle");
  if (!owned) return fail(TITAN_INVALID_ARGUMENT, "to_handle: the result pointer is NULL");
  // An AtenTensorHandle is a heap-allocated at::Tensor (torch/csrc/inductor/aoti_torch/utils.h).
  *owned = reinterpret_cast<AtenTensorOpaque*>(new at::Tensor(handle->tensor));
  return TITAN_OK;
}

titan_status from_handle(AtenTensorOpaque* owned, titan_tensor** out) {
  if (!owned) return fail(TITAN_INVALID_ARGUMENT, "from_handle: the handle is NULL");
  const std::unique_ptr<at::Tensor> tensor(reinterpret_cast<at::Tensor*>(owned));
  if (!out) return fail(TITAN_INVALID_ARGUMENT, "from_handle: the result pointer is NULL");
  if (!tensor->defined())
    return fail(TITAN_INVALID_ARGUMENT, "from_handle: the tensor is undefined");
  return slot([&]() -> titan_status {
    *out = make_owned(*tensor);
    return TITAN_OK;
  });
}

}  // namespace

const void* torch_tensor_extension() {
  static const titan_torch_tensor table = {sizeof(titan_torch_tensor), 0, to_handle, from_handle};
  return &table;
}

}  // namespace titan::converters
