/// float8 on the CPU: quantises, goes back to float32 and multiplies there. The numbers are those
/// of the recipe; only the accumulation of the tensor cores is not imitated.
#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <array>
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

/// float32 in the type of `like`.
Matrix in_type_of(const Matrix& product, const Matrix& like) {
  const ScalarType type = like.scalar_type();
  return product.scalar_type() == type ? product : torch::stable::to(product, type);
}

/// a b in float32, or in the type of both where neither was quantised.
Matrix multiply(const Matrix& a, const Matrix& b) { return torch_op("aten::mm", "", a, b); }

float* values_in(Matrix& a) { return static_cast<float*>(a.mutable_data_ptr()); }

/// A scale by itself, [1], for a cast of a whole tensor.
Matrix scale_matrix(const Matrix& like, float scale) {
  Matrix made = new_vector(like, 1, ScalarType::Float);
  *values_in(made) = scale;
  return made;
}

/// y [M, N], float32, += bias [N].
void add_to_rows(Matrix& y, const Matrix& bias) {
  const Matrix wide = torch::stable::to(bias, ScalarType::Float);
  const auto* added = static_cast<const float*>(wide.const_data_ptr());
  float* values = values_in(y);
  const int64_t columns = columns_of(y);
  torch::stable::parallel_for(0, rows_of(y), 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin * columns; i < end * columns; ++i) values[i] += added[i % columns];
  });
}

/// The sum over the rows, added up in float32.
Matrix sum_of_rows(const Matrix& a) {
  const std::array<int64_t, 1> rows{0};
  return in_type_of(torch::stable::sum(torch::stable::to(a, ScalarType::Float),
                                       torch::headeronly::IntHeaderOnlyArrayRef(rows.data(), 1)),
                    a);
}

enum Kept : size_t { kX, kW, kScales };

class EmulateBackend final : public Backend {
 public:
  explicit EmulateBackend(const Plan& plan) : plan_(plan) {}

  Forward forward(const ForwardCall& call) override {
    const Matrix nothing = new_vector(call.x, 0, ScalarType::Float);
    Forward result{call.x,
                   {call.needs_w ? call.x : nothing, call.needs_x ? call.w : nothing,
                    new_vector(call.x, of_whole_tensors() ? 2 : 0, ScalarType::Float)},
                   std::nullopt,
                   std::nullopt};
    const Product& product = plan_.y;
    std::optional<Matrix> y;
    if (of_whole_tensors()) {
      // Backward needs the same scales: finding them reads both tensors.
      float* scales = values_in(result.kept[kScales]);
      scales[0] = whole_scale(call.x, product.left, call.stored.x, &result.amax_x);
      scales[1] = whole_scale(call.w, product.right, call.stored.w, &result.amax_w);
      y = multiply(
          emulate_cast(call.x, product.left, Along::kColumns, scale_matrix(call.x, scales[0])),
          transposed(emulate_cast(call.w, product.right, Along::kColumns,
                                  scale_matrix(call.x, scales[1]))));
    } else {
      y = multiply(through(call.x, product.left, Along::kColumns),
                   transposed(through(call.w, product.right, Along::kColumns)));
    }
    // In float32 and before the one rounding, as cuBLASLt adds it.
    if (call.bias) add_to_rows(*y, *call.bias);
    result.y = in_type_of(*y, call.x);
    return result;
  }

  Backward backward(const BackwardCall& call) override {
    Backward result;
    const Matrix& grad_y = call.grad_y;
    if (call.needs_bias) result.bias = sum_of_rows(grad_y);
    if (!call.needs_x && !call.needs_w) return result;
    const Matrix &x = call.kept.at(kX), &w = call.kept.at(kW);
    std::optional<Matrix> grad_w;
    if (of_whole_tensors()) {
      const auto* scales = static_cast<const float*>(call.kept.at(kScales).const_data_ptr());
      // One scale, so one cast serves both products.
      const float scale = whole_scale(grad_y, plan_.dx.left, call.stored.grad_y, &result.amax);
      const Matrix grad =
          emulate_cast(grad_y, plan_.dx.left, Along::kColumns, scale_matrix(grad_y, scale));
      const auto again = [&](const Matrix& a, const Cast& cast, float its) {
        return emulate_cast(a, cast, Along::kRows, scale_matrix(a, its));
      };
      if (call.needs_x)
        result.x = in_type_of(multiply(grad, again(w, plan_.dx.right, scales[1])), grad_y);
      if (call.needs_w) grad_w = multiply(transposed(grad), again(x, plan_.dw.right, scales[0]));
    } else {
      // dx sums over the columns of dy and the rows of w; dw over the rows of both.
      if (call.needs_x)
        result.x = in_type_of(multiply(through(grad_y, plan_.dx.left, Along::kColumns),
                                       through(w, plan_.dx.right, Along::kRows)),
                              grad_y);
      if (call.needs_w) grad_w = weight_gradient(call);
    }
    if (grad_w)
      result.w = call.float32_w || call.accumulate_w ? torch::stable::to(*grad_w, ScalarType::Float)
                                                     : in_type_of(*grad_w, grad_y);
    return result;
  }

  CastReport measure(const Matrix& a, const Cast& cast, const std::optional<Matrix>& stored,
                     void*) override {
    const bool use_stored = stored && *static_cast<const float*>(stored->const_data_ptr()) != 0;
    const Matrix scales = use_stored ? *stored : scales_of(a, cast, Along::kColumns);
    const auto* values = static_cast<const float*>(scales.const_data_ptr());
    const CastLoss loss = loss_of_cast(a, cast, Along::kColumns, scales);
    return {find_amax(a),
            *std::min_element(values, values + scales.numel()),
            *std::max_element(values, values + scales.numel()),
            loss.underflow,
            loss.saturation,
            loss.sqnr_db};
  }
  size_t kept_count() const override { return 3; }

  void stage(const std::vector<Staged>& staged, void*) override {
    for (const Staged& one : staged) {
      Matrix history = one.history;
      float& slot = *values_in(history);
      slot = std::max(slot, *static_cast<const float*>(one.amax.const_data_ptr()));
    }
  }

  void update(const std::vector<DelayedState>& states, const DelayedOptions& options,
              void*) override {
    for (const DelayedState& state : states) {
      Matrix history = state.history, scale = state.scale;
      update_delayed(values_in(history), values_in(scale), state.format, options);
    }
  }

 private:
  bool of_whole_tensors() const { return plan_.y.left.granularity == Granularity::kTensor; }
  bool delayed() const { return plan_.recipe == Recipe::kDelayed; }

  Matrix weight_gradient(const BackwardCall& call) const {
    const Matrix& x = call.kept.at(kX);
    const bool quantised = plan_.dw.left.granularity != Granularity::kNone;
    if (quantised)
      return multiply(transposed(through(call.grad_y, plan_.dw.left, Along::kRows)),
                      through(x, plan_.dw.right, Along::kRows));
    // In high precision, which is the type of x unless float32 is asked for.
    const bool wide = call.float32_w || call.accumulate_w;
    const auto as_wanted = [&](const Matrix& a) {
      return wide ? torch::stable::to(a, ScalarType::Float) : a;
    };
    return multiply(transposed(as_wanted(call.grad_y)), as_wanted(x));
  }

  /// The scale of a whole tensor; with recipe delayed `amax` becomes its largest finite magnitude.
  float whole_scale(const Matrix& a, const Cast& cast, const std::optional<Matrix>& stored,
                    std::optional<Matrix>* amax) const {
    const float largest = find_amax(a);
    if (!delayed()) return scale_of(largest, cast.format, cast.rule);
    *amax = scale_matrix(a, std::isfinite(largest) ? largest : find_amax(a, true));
    const float kept = stored ? *static_cast<const float*>(stored->const_data_ptr()) : 0;
    // An infinity must not come out as the largest finite number: then the whole tensor is NaN, as
    // it is without a stored scale.
    if (kept == 0 || !std::isfinite(largest)) return scale_of(largest, cast.format, cast.rule);
    return cast.rule == ScaleRule::kPowerOfTwo ? power_of_two_below(kept) : kept;
  }

  static Matrix through(const Matrix& a, const Cast& cast, Along along) {
    return emulate_cast(a, cast, along, scales_of(a, cast, along));
  }

  Plan plan_;
};

}  // namespace

std::unique_ptr<Backend> make_emulate_backend(const Plan& plan) {
  return std::make_unique<EmulateBackend>(plan);
}

}  // namespace float8
