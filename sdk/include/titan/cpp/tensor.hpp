/// Tensors in C++: owned handles and typed views through DLPack.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "error.hpp"

namespace titan::sdk {

/// The upper half of a float: what most plugins see under mixed precision, the default.
class BFloat16 {
 public:
  BFloat16() = default;
  /// Rounds to nearest, ties to even.
  explicit BFloat16(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const bool nan = value != value;
    bits_ =
        nan ? uint16_t{0x7fc0} : static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  }
  explicit operator float() const {
    const uint32_t bits = static_cast<uint32_t>(bits_) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

 private:
  uint16_t bits_;
};

/// A borrowed tensor of the current call or hook. Do not keep it.
class TensorRef {
 public:
  TensorRef(titan_tensor* tensor = nullptr) : tensor_(tensor) {}  // NOLINT: implicit on purpose
  titan_tensor* get() const noexcept { return tensor_; }
  explicit operator bool() const noexcept { return tensor_ != nullptr; }
  titan_tensor_info info() const {
    auto info = sized<titan_tensor_info>();
    check(host().tensor_info(tensor_, &info));
    return info;
  }
  std::vector<int64_t> shape() const {
    const auto facts = info();
    return {facts.shape, facts.shape + facts.ndim};
  }
  int64_t numel() const {
    const auto facts = info();
    int64_t count = 1;
    for (int32_t i = 0; i < facts.ndim; ++i) count *= facts.shape[i];
    return count;
  }
  const titan_dl_tensor& dl() const {
    const titan_dl_tensor* view = nullptr;
    check(host().tensor_dl(tensor_, &view));
    return *view;
  }
  /// First element of a contiguous CPU tensor of element type T (float, double, BFloat16, intN_t,
  /// uintN_t); throws if it is anything else. Write only to tensors you made, to buffers, and in
  /// hooks.
  template <class T>
  T* data() const {
    const titan_dl_tensor& view = dl();
    if (view.device.type != TITAN_CPU)
      throw Error(TITAN_UNSUPPORTED, "the tensor is not in CPU memory", "set training.device: cpu");
    constexpr uint8_t code = std::is_same_v<T, BFloat16>   ? TITAN_DTYPE_BFLOAT
                             : std::is_floating_point_v<T> ? TITAN_DTYPE_FLOAT
                             : std::is_signed_v<T>         ? TITAN_DTYPE_INT
                                                           : TITAN_DTYPE_UINT;
    if (view.dtype.bits != 8 * sizeof(T) || view.dtype.lanes != 1 || view.dtype.code != code)
      throw Error(TITAN_UNSUPPORTED,
                  "the tensor is " + type_name(view.dtype.code, view.dtype.bits) +
                      ", the plugin reads " + type_name(code, 8 * sizeof(T)),
                  "run in the type the plugin reads (training.dtype, "
                  "training.mixed_precision_param), or handle "
                  "both in the plugin");
    int64_t expected = 1;
    for (int32_t i = view.ndim - 1; i >= 0; --i) {
      if (view.shape[i] != 1 && view.strides[i] != expected)
        throw Error(TITAN_UNSUPPORTED, "the tensor is not contiguous");
      expected *= view.shape[i];
    }
    return reinterpret_cast<T*>(static_cast<char*>(view.data) + view.byte_offset);
  }

 private:
  /// "float32", "bfloat16", "int64".
  static std::string type_name(unsigned code, unsigned long bits) {
    const char* kind = code == TITAN_DTYPE_BFLOAT  ? "bfloat"
                       : code == TITAN_DTYPE_FLOAT ? "float"
                       : code == TITAN_DTYPE_INT   ? "int"
                       : code == TITAN_DTYPE_UINT  ? "uint"
                                                   : "of another type with ";
    return kind + std::to_string(bits);
  }
  titan_tensor* tensor_;
};

/// An owned tensor: hand it to Call::set / set_grad, or let it go.
class Tensor {
 public:
  explicit Tensor(titan_tensor* owned = nullptr) noexcept : tensor_(owned) {}
  Tensor(Tensor&& other) noexcept : tensor_(std::exchange(other.tensor_, nullptr)) {}
  Tensor& operator=(Tensor&& other) noexcept {
    std::swap(tensor_, other.tensor_);
    return *this;
  }
  ~Tensor() {
    if (tensor_) host().tensor_release(tensor_);
  }
  /// A new contiguous tensor with the shape, type and device of `like`, uninitialised.
  static Tensor empty_like(TensorRef like) {
    const auto info = like.info();
    titan_tensor* made = nullptr;
    check(host().tensor_empty(info.device, info.dtype, info.ndim, info.shape, &made));
    return Tensor(made);
  }
  /// A new contiguous tensor on the device of `like`, uninitialised.
  static Tensor empty(TensorRef like, titan_dl_dtype dtype, const std::vector<int64_t>& shape) {
    titan_tensor* made = nullptr;
    check(host().tensor_empty(like.info().device, dtype, static_cast<int32_t>(shape.size()),
                              shape.data(), &made));
    return Tensor(made);
  }
  TensorRef ref() const noexcept { return TensorRef(tensor_); }
  titan_tensor* release() noexcept { return std::exchange(tensor_, nullptr); }

 private:
  titan_tensor* tensor_;
};

}  // namespace titan::sdk
