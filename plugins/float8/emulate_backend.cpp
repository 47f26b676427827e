/// float8 on the CPU: quantises, goes back to float32 and multiplies there. The numbers are those
/// of the recipe; only the accumulation of the tensor cores is not imitated.
#include <torch/csrc/stable/ops.h>

#include <cmath>
#include <titan/torch.hpp>

#include "backend.h"
#include "cpu_cast.h"
#include "cpu_quantize.h"
#include "matrix.h"
#include "scale.h"

namespace float8 {
namespace {

using titan::sdk::torch_op;
using torch::headeronly::ScalarType;

Matrix transposed(const Matrix& a) { return torch::stable::transpose(a, 0, 1); }

/// a b in float32, handed back in the type of `like`.
Matrix multiply_like(const Matrix& a, const Matrix& b, const Matrix& like) {
  Matrix product = torch_op("aten::mm", "", a, b);
  const ScalarType type = like.scalar_type();
  return product.scalar_type() == type ? product : torch::stable::to(product, type);
}

float* values_in(const Matrix& a) { return static_cast<float*>(a.mutable_data_ptr()); }

/// A scale by itself, [1], for a cast of a whole tensor.
Matrix scale_matrix(const Matrix& like, float scale) {
  Matrix made = new_vector(like, 1, ScalarType::Float);
  *values_in(made) = scale;
  return made;
}

class EmulateBackend final : public Backend {
 public:
  explicit EmulateBackend(const Plan& plan) : plan_(plan) {}
  using Backend::backward;
  using Backend::forward;

  Forward forward(const Matrix& x, const Matrix& w, const StoredScales& stored, void*) override {
    Forward result{x, new_vector(x, 0, ScalarType::Float), std::nullopt};
    const Product& product = plan_.y;
    if (!of_whole_tensors()) {
      result.y = multiply_like(through(x, product.left, Along::kColumns), transposed(through(w, product.right, Along::kColumns)), x);
      return result;
    }
    // Backward needs the same scales: finding them reads both tensors.
    result.kept = new_vector(x, 2, ScalarType::Float);
    float* scales = values_in(result.kept);
    if (delayed()) result.amax = new_vector(x, 2, ScalarType::Float);
    float* amax = result.amax ? values_in(*result.amax) : nullptr;
    scales[0] = whole_scale(x, product.left, stored.x, amax);
    scales[1] = whole_scale(w, product.right, stored.w, amax ? amax + 1 : nullptr);
    result.y = multiply_like(emulate_cast(x, product.left, Along::kColumns, scale_matrix(x, scales[0])),
                             transposed(emulate_cast(w, product.right, Along::kColumns, scale_matrix(x, scales[1]))), x);
    return result;
  }

  Backward backward(const Matrix& grad_y, const Matrix& x, const Matrix& w, const Matrix& kept, const StoredScales& stored,
                    bool needs_x, bool needs_w, void*) override {
    Backward result;
    if (of_whole_tensors()) {
      const auto* scales = static_cast<const float*>(kept.const_data_ptr());
      if (delayed()) result.amax = new_vector(x, 1, ScalarType::Float);
      // One scale, so one cast serves both products.
      const float scale = whole_scale(grad_y, plan_.dx.left, stored.grad_y, result.amax ? values_in(*result.amax) : nullptr);
      const Matrix grad = emulate_cast(grad_y, plan_.dx.left, Along::kColumns, scale_matrix(x, scale));
      const auto again = [&](const Matrix& a, const Cast& cast, float its) {
        return emulate_cast(a, cast, Along::kRows, scale_matrix(x, its));
      };
      if (needs_x) result.x = multiply_like(grad, again(w, plan_.dx.right, scales[1]), x);
      if (needs_w) result.w = multiply_like(transposed(grad), again(x, plan_.dw.right, scales[0]), w);
      return result;
    }
    // dx sums over the columns of dy and the rows of w; dw over the rows of both.
    if (needs_x)
      result.x = multiply_like(through(grad_y, plan_.dx.left, Along::kColumns), through(w, plan_.dx.right, Along::kRows), x);
    if (needs_w)
      result.w = multiply_like(transposed(through(grad_y, plan_.dw.left, Along::kRows)), through(x, plan_.dw.right, Along::kRows), w);
    return result;
  }

 private:
  bool of_whole_tensors() const { return plan_.y.left.granularity == Granularity::kTensor; }
  bool delayed() const { return plan_.recipe == Recipe::kDelayed; }

  /// The scale of a whole tensor; `amax`, if given, becomes its largest finite magnitude.
  float whole_scale(const Matrix& a, const Cast& cast, const std::optional<Matrix>& stored, float* amax) const {
    const float largest = find_amax(a);
    const float kept = stored ? *static_cast<const float*>(stored->const_data_ptr()) : 0;
    if (!amax) return scale_of(largest, cast.format, cast.rule);
    *amax = std::isfinite(largest) ? largest : find_amax(a, true);
    // An infinity must not come out as the largest finite number: then the whole tensor is NaN, as it is
    // without a stored scale.
    if (kept == 0 || !std::isfinite(largest)) return scale_of(largest, cast.format, cast.rule);
    return cast.rule == ScaleRule::kPowerOfTwo ? power_of_two_below(kept) : kept;
  }

  static Matrix through(const Matrix& a, const Cast& cast, Along along) {
    if (cast.granularity == Granularity::kNone) return a;
    return emulate_cast(a, cast, along, scales_of(a, cast, along));
  }

  Plan plan_;
};

}  // namespace

std::unique_ptr<Backend> make_emulate_backend(const Plan& plan) { return std::make_unique<EmulateBackend>(plan); }

}  // namespace float8
