/// What computes a float8 linear layer: an interface with one implementation per kind of device.
#pragma once

#include <torch/csrc/stable/tensor.h>

#include <memory>
#include <optional>

#include "recipe.h"

namespace float8 {

/// Matrices are row-major and contiguous, float32 or bfloat16, all of one type.
using Matrix = torch::stable::Tensor;

/// Recipe delayed: float32 [1] each, the scale that earlier steps left; 0: none yet, so that the tensor's
/// own largest magnitude decides. Other recipes have none.
struct StoredScales {
  std::optional<Matrix> x, w, grad_y;
};

struct Forward {
  Matrix y;     ///< [M, N] in the type of x
  Matrix kept;  ///< float32 on the device, for backward: what it need not find out again, by recipe
  std::optional<Matrix> amax;  ///< delayed: float32 [2], the largest finite magnitudes of x and w
};

struct Backward {
  std::optional<Matrix> x;     ///< [M, K]
  std::optional<Matrix> w;     ///< [N, K]
  std::optional<Matrix> amax;  ///< delayed: float32 [1], the largest finite magnitude of grad_y
};

/// y = x w^T with x [M, K] and w [N, K]; M is any number, also 0. How operands are quantised is the plan's
/// to say. Backward quantises x and w again from high precision, as nothing but them is kept between the two.
class Backend {
 public:
  virtual ~Backend() = default;
  /// `stream`: the CUDA stream of the call; null on the CPU.
  virtual Forward forward(const Matrix& x, const Matrix& w, const StoredScales& stored, void* stream) = 0;
  /// `kept` is what forward returned for the same x and w; `needs_*`: which gradients are wanted.
  virtual Backward backward(const Matrix& grad_y, const Matrix& x, const Matrix& w, const Matrix& kept,
                            const StoredScales& stored, bool needs_x, bool needs_w, void* stream) = 0;
  Forward forward(const Matrix& x, const Matrix& w, void* stream) { return forward(x, w, {}, stream); }
  Backward backward(const Matrix& grad_y, const Matrix& x, const Matrix& w, const Matrix& kept, bool needs_x,
                    bool needs_w, void* stream) {
    return backward(grad_y, x, w, kept, {}, needs_x, needs_w, stream);
  }
};

/// float32 products of dequantised operands on the CPU.
std::unique_ptr<Backend> make_emulate_backend(const Plan& plan = plan_of(Recipe::kTensorwise));

/// fp8 products through cuBLASLt, of recipe tensorwise. `capability_major`: of the device. Throws TITAN_UNSUPPORTED if
/// this file was built without CUDA. cuBLASLt is opened at the first product, which throws if it
/// cannot be.
std::unique_ptr<Backend> make_cuda_backend(int32_t capability_major);

/// Whether make_cuda_backend exists in this build.
bool built_with_cuda();

}  // namespace float8
