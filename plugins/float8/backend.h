/// What computes a float8 linear layer: an interface with one implementation per kind of device.
#pragma once

#include <torch/csrc/stable/tensor.h>

#include <memory>
#include <optional>
#include <vector>

#include "delayed.h"
#include "recipe.h"

namespace float8 {

/// Matrices are row-major and contiguous, float32 or bfloat16, all of one type.
using Matrix = torch::stable::Tensor;

/// Recipe delayed: float32 [1] each, the scale that earlier steps left; 0: none yet, so that the
/// tensor's own largest magnitude decides. Other recipes have none.
struct StoredScales {
  std::optional<Matrix> x = std::nullopt, w = std::nullopt, grad_y = std::nullopt;
};

/// What a backend remembers of one layer between calls: the weight as it was quantised. Owned by
/// the layer; forgotten with it, and when the weights are freed or moved.
class LayerMemory {
 public:
  virtual ~LayerMemory() = default;
};

struct ForwardCall {
  Matrix x;                                   ///< [M, K]
  Matrix w;                                   ///< [N, K]
  std::optional<Matrix> bias = std::nullopt;  ///< [N]
  StoredScales stored = {};
  bool needs_x = false, needs_w = false;  ///< gradients that backward will be asked for
  LayerMemory* memory = nullptr;          ///< null: nothing is remembered
  uint64_t weight_version = 0;            ///< another one whenever the values of w are others
  void* stream = nullptr;                 ///< the CUDA stream of the call; null on the CPU
};

struct Forward {
  Matrix y;  ///< [M, N] in the type of x
  std::vector<Matrix>
      kept;  ///< for backward: kept_count() of them, or none if no gradient is needed
  std::optional<Matrix> amax_x, amax_w;  ///< delayed: float32 [1], largest finite magnitudes
};

struct BackwardCall {
  Matrix grad_y;                  ///< [M, N] in the type of x
  std::vector<Matrix> kept = {};  ///< what forward returned
  StoredScales stored = {};
  int64_t in_features = 0;  ///< K
  bool needs_x = false, needs_w = false, needs_bias = false;
  bool float32_w = false;  ///< the weight's gradient leaves its product in float32
  std::optional<Matrix> accumulate_w =
      std::nullopt;  ///< float32 [N, K]: the weight's gradient is added to it
  void* stream = nullptr;
};

struct Backward {
  std::optional<Matrix> x;     ///< [M, K]
  std::optional<Matrix> w;     ///< [N, K]; none if it was added to accumulate_w
  std::optional<Matrix> bias;  ///< [N]: the sum of grad_y over its rows, added up in float32
  std::optional<Matrix> amax;  ///< delayed: float32 [1], the largest finite magnitude of grad_y
};

/// Slot 0 of a history takes the largest of what the micro-batches of a step have.
struct Staged {
  Matrix history;  ///< float32 [L]
  Matrix amax;     ///< float32 [1]
};

/// The state of one tensor of recipe delayed.
struct DelayedState {
  Matrix history;  ///< float32 [L]
  Matrix scale;    ///< float32 [1]
  Format format;
};

/// How well a tensor fits its format, in the layout of the product that it is quantised for first.
struct CastReport {
  double amax = 0;
  double scale_min = 0, scale_max = 0;
  double underflow = 0;   ///< share of the non-zero elements that became zero
  double saturation = 0;  ///< share of all elements beyond the format's largest value
  double sqnr_db = 0;     ///< 10 log10(sum x^2 / sum (x - cast(x))^2); infinite if nothing is lost
};

/// y = x w^T + bias with x [M, K] and w [N, K]; M is any number, also 0. How operands are quantised
/// is the plan's to say.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual Forward forward(const ForwardCall& call) = 0;
  virtual Backward backward(const BackwardCall& call) = 0;
  /// Waits for the device. a [rows > 0, columns]; `stored` as in StoredScales.
  virtual CastReport measure(const Matrix& a, const Cast& cast, const std::optional<Matrix>& stored,
                             void* stream) = 0;
  virtual size_t kept_count() const = 0;
  virtual std::unique_ptr<LayerMemory> make_memory() const { return nullptr; }
  /// Recipe delayed, at most two at once.
  virtual void stage(const std::vector<Staged>& staged, void* stream) = 0;
  /// Recipe delayed, once an optimizer step; see update_delayed().
  virtual void update(const std::vector<DelayedState>& states, const DelayedOptions& options,
                      void* stream) = 0;
};

/// What the emulation multiplies. Sums are in float32 either way.
enum class EmulatedProducts {
  kFaster,   ///< what this processor is faster with
  kFloat32,  ///< dequantised operands in float32
  kNarrow,   ///< the fp8 values as bfloat16, which holds them exactly; needs has_narrow_products()
};

/// The recipe's numbers on the CPU.
std::unique_ptr<Backend> make_emulate_backend(
    const Plan& plan = plan_of(Recipe::kTensorwise),
    EmulatedProducts products = EmulatedProducts::kFaster);

/// What the device backend goes by.
struct DeviceSettings {
  int32_t capability_major = 0, capability_minor = 0;
  /// Whether cuBLASLt multiplies with a scale for each row. Without, a product with scale 1 is
  /// multiplied by the scales afterwards: the same bits if they are powers of two.
  bool vector_scales = false;
  /// Fast accumulation in the products y, dx and dw.
  bool fast_y = false, fast_dx = false, fast_dw = false;
};

/// fp8 products through cuBLASLt. Throws TITAN_UNSUPPORTED if this file was built without CUDA.
/// cuBLASLt is opened at the first product, which throws if it cannot be: a plan for a GPU that is
/// elsewhere needs none.
std::unique_ptr<Backend> make_cuda_backend(const Plan& plan, const DeviceSettings& settings);

/// Whether make_cuda_backend exists in this build, and the cuBLASLt it was built for: 130100
/// for 13.1.0; 0: none.
bool built_with_cuda();
int64_t built_for_cublaslt();

}  // namespace float8
