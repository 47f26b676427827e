/// float8 on the CPU: quantises and multiplies in float32, either the dequantised operands or,
/// where the processor is faster with them, the fp8 values as bfloat16. The numbers are those of
/// the recipe; only the accumulation of the tensor cores is not imitated.
#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <utility>

#include "backend.h"
#include "cpu_cast.h"
#include "cpu_product.h"
#include "cpu_quantize.h"
#include "matrix.h"
#include "scale.h"

namespace float8 {
namespace {

using torch::headeronly::ScalarType;

/// float32 in the type of `like`.
Matrix in_type_of(const Matrix& product, const Matrix& like) {
  const ScalarType type = like.scalar_type();
  return product.scalar_type() == type ? product : torch::stable::to(product, type);
}

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
    for (int64_t row = begin; row < end; ++row) {
      float* of_row = values + row * columns;
      for (int64_t i = 0; i < columns; ++i) of_row[i] += added[i];
    }
  });
}

/// The sum over the rows, added up in float32.
Matrix sum_of_rows(const Matrix& a) {
  const std::array<int64_t, 1> rows{0};
  return in_type_of(torch::stable::sum(torch::stable::to(a, ScalarType::Float),
                                       torch::headeronly::IntHeaderOnlyArrayRef(rows.data(), 1)),
                    a);
}

/// What backward finds: x and w as they are or, if products are narrow, w cast for dx; x's scale,
/// if it has one for all; the scales of the kept cast of w, or of w if it has one for all.
enum Kept : size_t { kX, kW, kScaleX, kScaleW, kKeptCount };

/// A scale of a whole tensor and, with recipe delayed, its largest finite magnitude.
struct WholeScale {
  Matrix scale;
  std::optional<Matrix> amax = std::nullopt;
};

/// What is known of a weight in one of its versions.
struct Weight {
  uint64_t version = 0;
  float stored = 0;  ///< the scale that earlier steps left, as it was then
  std::optional<WholeScale> whole;
  std::optional<CpuOperand> y, dx;  ///< cast for these products
};

class WeightMemory final : public LayerMemory {
 public:
  std::mutex mutex;
  Weight weight;
};

bool same(const Cast& a, const Cast& b) {
  return a.granularity == b.granularity && a.format == b.format && a.rule == b.rule;
}

class EmulateBackend final : public Backend {
 public:
  EmulateBackend(const Plan& plan, bool narrow)
      : plan_(plan), narrow_(narrow), to_(narrow ? CastTo::kNarrow : CastTo::kFloat32) {}

  Forward forward(const ForwardCall& call) override {
    const Matrix nothing = new_vector(call.x, 0, ScalarType::Float);
    const Weight weight = quantise_weight(call);
    std::optional<WholeScale> scale_x;
    if (of_whole_tensors()) scale_x = whole_scale(call.x, plan_.y.left, call.stored.x);
    Matrix y = multiply(scale_x ? cast_by(call.x, plan_.y.left, scale_x->scale, false)
                                : cast(call.x, plan_.y.left, Along::kColumns, false),
                        *weight.y);
    // In float32 and before the one rounding, as cuBLASLt adds it.
    if (call.bias) add_to_rows(y, *call.bias);
    Forward result{in_type_of(y, call.x),
                   {call.needs_w ? call.x : nothing, nothing, scale_x ? scale_x->scale : nothing,
                    weight.whole ? weight.whole->scale : nothing},
                   std::nullopt,
                   std::nullopt};
    if (call.needs_x) result.kept[kW] = narrow_ ? weight.dx->values : call.w;
    if (call.needs_x && narrow_) result.kept[kScaleW] = weight.dx->scales;
    if (scale_x) result.amax_x = scale_x->amax;
    if (weight.whole) result.amax_w = weight.whole->amax;
    return result;
  }

  Backward backward(const BackwardCall& call) override {
    Backward result;
    const Matrix& grad_y = call.grad_y;
    if (call.needs_bias) result.bias = sum_of_rows(grad_y);
    if (!call.needs_x && !call.needs_w) return result;
    const Matrix& x = call.kept.at(kX);
    std::optional<Matrix> grad_w;
    if (of_whole_tensors()) {
      // One scale, so one cast serves both products.
      const WholeScale scale = whole_scale(grad_y, plan_.dx.left, call.stored.grad_y);
      result.amax = scale.amax;
      CpuOperand grad = cast_by(grad_y, plan_.dx.left, scale.scale, false);
      if (call.needs_x) result.x = in_type_of(multiply(grad, weight_for_dx(call)), grad_y);
      grad.transposed = true;
      if (call.needs_w)
        grad_w = multiply(grad, cast_by(x, plan_.dw.right, call.kept.at(kScaleX), false));
    } else {
      // dx sums over the columns of dy and the rows of w; dw over the rows of both.
      if (call.needs_x)
        result.x = in_type_of(
            multiply(cast(grad_y, plan_.dx.left, Along::kColumns, false), weight_for_dx(call)),
            grad_y);
      if (call.needs_w) grad_w = weight_gradient(call);
    }
    if (grad_w)
      result.w =
          call.float32_w || call.accumulate_w ? std::move(*grad_w) : in_type_of(*grad_w, grad_y);
    return result;
  }

  std::unique_ptr<LayerMemory> make_memory() const override {
    return std::make_unique<WeightMemory>();
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
  size_t kept_count() const override { return kKeptCount; }

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

  CpuOperand cast(const Matrix& a, const Cast& cast, Along along, bool transposed) const {
    Scaled scaled = scale_and_cast(a, cast, along, to_);
    return {std::move(scaled.values), std::move(scaled.scales), cast, transposed};
  }
  /// With a scale [1] for the whole tensor.
  CpuOperand cast_by(const Matrix& a, const Cast& cast, const Matrix& scale,
                     bool transposed) const {
    return {narrow_ ? narrow_cast(a, cast, Along::kColumns, scale)
                    : emulate_cast(a, cast, Along::kColumns, scale),
            scale, cast, transposed};
  }

  /// For y and, if x takes a gradient and products are narrow, for dx. That takes two bytes a value
  /// for each of the two layouts, or for both where one cast serves, until the weight's next
  /// version; float32 copies would take as much again as the weights, so those live through one
  /// product.
  Weight quantise_weight(const ForwardCall& call) const {
    // Another backend's memory is not this one's to read.
    auto* memory = dynamic_cast<WeightMemory*>(call.memory);
    const float stored =
        call.stored.w ? *static_cast<const float*>(call.stored.w->const_data_ptr()) : 0;
    const bool for_dx = narrow_ && call.needs_x;
    std::unique_lock<std::mutex> lock;
    Weight weight{call.weight_version, stored, std::nullopt, std::nullopt, std::nullopt};
    if (memory) {
      lock = std::unique_lock(memory->mutex);
      if (memory->weight.version == call.weight_version && memory->weight.stored == stored)
        weight = memory->weight;
    }
    if (of_whole_tensors() && !weight.whole)
      weight.whole = whole_scale(call.w, plan_.y.right, call.stored.w);
    if (!weight.y)
      weight.y = weight.whole ? cast_by(call.w, plan_.y.right, weight.whole->scale, true)
                              : cast(call.w, plan_.y.right, Along::kColumns, true);
    if (for_dx && !weight.dx) {
      const Granularity granularity = plan_.dx.right.granularity;
      const bool either_way =
          granularity == Granularity::kTensor || granularity == Granularity::k128x128;
      weight.dx = either_way && same(plan_.y.right, plan_.dx.right)
                      ? CpuOperand{weight.y->values, weight.y->scales, plan_.dx.right, false}
                      : cast(call.w, plan_.dx.right, Along::kRows, false);
    }
    if (memory) {
      memory->weight = weight;
      if (!narrow_) memory->weight.y.reset();
    }
    return weight;
  }

  CpuOperand weight_for_dx(const BackwardCall& call) const {
    const Matrix& w = call.kept.at(kW);
    if (narrow_) return {w, call.kept.at(kScaleW), plan_.dx.right, false};
    return of_whole_tensors() ? cast_by(w, plan_.dx.right, call.kept.at(kScaleW), false)
                              : cast(w, plan_.dx.right, Along::kRows, false);
  }

  Matrix weight_gradient(const BackwardCall& call) const {
    const Matrix& x = call.kept.at(kX);
    if (plan_.dw.left.granularity != Granularity::kNone)
      return multiply(cast(call.grad_y, plan_.dw.left, Along::kRows, true),
                      cast(x, plan_.dw.right, Along::kRows, false));
    // In high precision: what comes in bfloat16 has exact products in float32.
    const bool as_it_is = narrow_ && x.scalar_type() == ScalarType::BFloat16;
    const auto unquantised = [&](const Matrix& a, bool transposed) {
      return CpuOperand{as_it_is ? a : torch::stable::to(a, ScalarType::Float),
                        new_vector(a, 0, ScalarType::Float), Cast{}, transposed};
    };
    return multiply(unquantised(call.grad_y, true), unquantised(x, false));
  }

  /// The scale of a whole tensor; its largest finite magnitude with recipe delayed.
  WholeScale whole_scale(const Matrix& a, const Cast& cast,
                         const std::optional<Matrix>& stored) const {
    const float largest = find_amax(a);
    if (!delayed()) return {scale_matrix(a, scale_of(largest, cast.format, cast.rule))};
    const Matrix amax = scale_matrix(a, std::isfinite(largest) ? largest : find_amax(a, true));
    const float kept = stored ? *static_cast<const float*>(stored->const_data_ptr()) : 0;
    // An infinity must not come out as the largest finite number: then the whole tensor is NaN, as
    // it is without a stored scale.
    const float scale = kept == 0 || !std::isfinite(largest)
                            ? scale_of(largest, cast.format, cast.rule)
                        : cast.rule == ScaleRule::kPowerOfTwo ? power_of_two_below(kept)
                                                              : kept;
    return {scale_matrix(a, scale), amax};
  }

  Plan plan_;
  bool narrow_;
  CastTo to_;
};

}  // namespace

std::unique_ptr<Backend> make_emulate_backend(const Plan& plan, EmulatedProducts products) {
  return std::make_unique<EmulateBackend>(
      plan, products == EmulatedProducts::kNarrow ||
                (products == EmulatedProducts::kFaster && prefers_narrow_products()));
}

}  // namespace float8
