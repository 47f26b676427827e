/// What computes a float8 linear layer: an interface with one implementation per kind of device.
#pragma once

#include <torch/csrc/stable/tensor.h>

#include <memory>
#include <optional>

namespace float8 {

/// Matrices are row-major and contiguous, float32 or bfloat16, all of one type.
using Matrix = torch::stable::Tensor;

struct Forward {
  Matrix y;     ///< [M, N] in the type of x
  Matrix amax;  ///< float32 [2] on the device: largest magnitude of x and of w, for backward
};

struct Backward {
  std::optional<Matrix> x;  ///< [M, K]
  std::optional<Matrix> w;  ///< [N, K]
};

/// y = x w^T with x [M, K] and w [N, K]; K and N are multiples of 16, M is any number, also 0.
/// x and w are quantised to e4m3 and gradients to e5m2, one scale a tensor. Backward quantises x
/// and w again from high precision, as nothing but them is kept between the two.
class Backend {
 public:
  virtual ~Backend() = default;
  /// `stream`: the CUDA stream of the call; null on the CPU.
  virtual Forward forward(const Matrix& x, const Matrix& w, void* stream) = 0;
  /// `amax` is what forward returned for the same x and w; `needs_*`: which gradients are wanted.
  virtual Backward backward(const Matrix& grad_y, const Matrix& x, const Matrix& w, const Matrix& amax,
                            bool needs_x, bool needs_w, void* stream) = 0;
};

/// float32 products of dequantised operands on the CPU.
std::unique_ptr<Backend> make_emulate_backend();

/// fp8 products through cuBLASLt. `capability_major`: of the device. Throws TITAN_UNSUPPORTED if
/// this file was built without CUDA. cuBLASLt is opened at the first product, which throws if it
/// cannot be.
std::unique_ptr<Backend> make_cuda_backend(int32_t capability_major);

/// Whether make_cuda_backend exists in this build.
bool built_with_cuda();

}  // namespace float8
