#include "cuda_backend.h"

#include <torch/csrc/stable/accelerator.h>

#include <array>
#include <titan/torch.hpp>

#include "../matrix.h"

namespace float8::device {
namespace {

using titan::sdk::torch_op;
using torch::headeronly::ScalarType;

/// Makes the device of `x` current, as kernels go to the current device. Nothing for CPU tensors.
std::optional<torch::stable::accelerator::DeviceGuard> on_device_of(const Matrix& x) {
  std::optional<torch::stable::accelerator::DeviceGuard> guard;
  if (!x.is_cpu()) guard.emplace(x.get_device_index());
  return guard;
}

/// The kernels read 16 bytes at a time; a view may begin anywhere.
Matrix aligned(const Matrix& x) {
  return reinterpret_cast<uintptr_t>(x.const_data_ptr()) % 16 == 0 ? x : torch::stable::clone(x);
}

Matrix zeros(const Matrix& like, int64_t rows, int64_t columns) {
  Matrix result = new_matrix(like, rows, columns, like.scalar_type());
  return torch::stable::zero_(result);
}

/// The first `rows` rows, a view.
Matrix first_rows(const Matrix& a, int64_t rows) {
  Matrix whole = a;
  return rows == rows_of(a) ? a : torch::stable::narrow(whole, 0, 0, rows);
}
Matrix first_columns(const Matrix& a, int64_t columns) {
  Matrix whole = a;
  return columns == columns_of(a)
             ? a
             : torch::stable::contiguous(torch::stable::narrow(whole, 1, 0, columns));
}

/// Zeros to the right, up to a multiple: what pad_inner_dim adds to in_features.
Matrix pad_columns(const Matrix& a, int64_t multiple) {
  const int64_t missing = round_up(columns_of(a), multiple) - columns_of(a);
  if (missing == 0) return a;
  const std::array<int64_t, 2> padding{0, missing};
  return torch::stable::pad(a, {padding.data(), padding.size()});
}

/// What forward keeps, by place; an absent one is empty.
enum Kept : size_t { kX, kXScales, kW, kWScales };

Matrix nothing(const Matrix& like) { return new_vector(like, 0, ScalarType::Byte); }

void keep(std::vector<Matrix>& kept, const std::optional<Operand>& operand, const Matrix& like) {
  kept.push_back(operand ? operand->bytes : nothing(like));
  kept.push_back(operand ? operand->scales : nothing(like));
}

std::optional<Cast> wanted(const Cast& cast, bool really = true) {
  return really && cast.granularity != Granularity::kNone ? std::optional<Cast>(cast)
                                                          : std::nullopt;
}

/// The weight in fp8, of which version, and after how many updates of scales.
class WeightMemory final : public LayerMemory {
 public:
  std::mutex mutex;
  std::optional<Quantised> weight;
  uint64_t version = 0, updates = 0;
};

}  // namespace

CudaBackend::CudaBackend(const Plan& plan, const DeviceSettings& settings,
                         const CublasLt& (*library)())
    : plan_(plan), settings_(settings), library_(library) {}

std::unique_ptr<LayerMemory> CudaBackend::make_memory() const {
  return std::make_unique<WeightMemory>();
}

Gemm& CudaBackend::gemm() {
  std::call_once(opened_, [this] {
    gemm_ = std::make_unique<Gemm>(
        library_(), GemmDevice{settings_.capability_major, settings_.capability_minor});
  });
  return *gemm_;
}

ScaleMode CudaBackend::mode_of(Granularity granularity) const {
  switch (granularity) {
    case Granularity::kVector:
      return settings_.vector_scales ? ScaleMode::kVector : ScaleMode::kUnit;
    case Granularity::k1x128: return ScaleMode::k1x128;
    case Granularity::k128x128: return ScaleMode::k128x128;
    case Granularity::k1x32: return ScaleMode::k1x32;
    default: return ScaleMode::kScalar;
  }
}

Matrix CudaBackend::workspace(const Matrix& like, void* stream) {
  const std::lock_guard lock(mutex_);
  const auto found = workspaces_.find(stream);
  if (found != workspaces_.end()) return found->second;
  // 256 bytes more: the product wants them aligned to that many.
  const auto size = static_cast<int64_t>(gemm().workspace_bytes()) + 256;
  return workspaces_.emplace(stream, new_vector(like, size, ScalarType::Byte)).first->second;
}

Matrix CudaBackend::multiply(const Operand& left, const Operand& right, const Want& want) {
  const ScaleMode mode_left = mode_of(left.granularity), mode_right = mode_of(right.granularity);
  const bool scale_afterwards = mode_left == ScaleMode::kUnit;
  const ScalarType type = want.float32 || want.into ? ScalarType::Float : want.like.scalar_type();
  GemmShape shape{rows_of(right.bytes),
                  rows_of(left.bytes),
                  columns_of(left.bytes),
                  right.format,
                  left.format,
                  type == ScalarType::Float ? InputType::kFloat32 : InputType::kBFloat16,
                  mode_right,
                  mode_left};
  shape.accumulate = want.into.has_value();
  shape.fast_accumulation = want.fast;
  shape.bias = want.bias && type == ScalarType::BFloat16 && !scale_afterwards;
  Matrix result = shape.accumulate ? *want.into : new_matrix(want.like, shape.n, shape.m, type);

  Matrix scratch = workspace(want.like, want.stream);
  const auto address = reinterpret_cast<uintptr_t>(scratch.mutable_data_ptr());
  const auto pointer_unless_unit = [&](const Operand& operand) {
    return scale_afterwards ? nullptr : operand.scales.const_data_ptr();
  };
  gemm().run(shape,
             {right.bytes.const_data_ptr(), left.bytes.const_data_ptr(), pointer_unless_unit(right),
              pointer_unless_unit(left), result.mutable_data_ptr(),
              shape.bias ? want.bias->const_data_ptr() : nullptr,
              reinterpret_cast<void*>((address + 255) / 256 * 256)},
             want.stream);

  EpilogueArguments epilogue{
      result.mutable_data_ptr(), shape.n, shape.m, nullptr, nullptr, nullptr};
  if (scale_afterwards) {
    epilogue.row_scales = static_cast<const float*>(left.scales.const_data_ptr());
    epilogue.column_scales = static_cast<const float*>(right.scales.const_data_ptr());
  }
  if (want.bias && !shape.bias) epilogue.bias = want.bias->const_data_ptr();
  if (epilogue.row_scales || epilogue.bias)
    check_launch(launch_epilogue(epilogue, shape.d, want.stream), "scale a product");
  return result;
}

Quantised CudaBackend::quantise_weight(const ForwardCall& call) {
  auto* memory = static_cast<WeightMemory*>(call.memory);
  const uint64_t updates = updates_;
  std::unique_lock<std::mutex> lock;
  if (memory) {
    lock = std::unique_lock(memory->mutex);
    // Its scales travel with it: a later scale for the same bytes would be wrong. A frozen weight
    // keeps its version while its scale moves: it is cast again, as a resumed run casts it.
    const bool current = memory->version == call.weight_version && memory->updates == updates;
    if (memory->weight && current && (memory->weight->columns || !call.needs_x))
      return *memory->weight;
    memory->weight.reset();
  }
  const Matrix w = aligned(pad_columns(call.w, size_multiple(plan_.recipe)));
  const std::optional<Cast> columns = wanted(plan_.dx.right, call.needs_x);
  Quantised weight =
      quantise(w, {wanted(plan_.y.right), columns, call.stored.w, false, rows_of(w), call.stream});
  // Both operands of a product are scaled in the same mode.
  if (columns && columns->granularity == Granularity::kTensor &&
      plan_.dx.left.granularity == Granularity::kVector) {
    weight.columns->scales = broadcast_scale(weight.columns->scales, columns_of(w), call.stream);
    weight.columns->granularity = Granularity::kVector;
  }
  if (memory) {
    memory->weight = weight;
    memory->version = call.weight_version;
    memory->updates = updates;
  }
  return weight;
}

Forward CudaBackend::forward(const ForwardCall& call) {
  const auto guard = on_device_of(call.x);
  const int64_t multiple = size_multiple(plan_.recipe), tokens = rows_of(call.x);
  const Matrix x = aligned(pad_columns(call.x, multiple));
  const Quantised weight = quantise_weight(call);
  Forward result{zeros(x, 0, rows_of(call.w)), {}, std::nullopt, std::nullopt};
  Quantised input;
  if (tokens > 0) {
    input = quantise(x, {wanted(plan_.y.left), wanted(plan_.dw.right, call.needs_w), call.stored.x,
                         false, round_up(tokens, multiple), call.stream});
    Want want{x};
    want.fast = settings_.fast_y;
    want.bias = call.bias;
    want.stream = call.stream;
    result.y = first_rows(multiply(*input.rows, *weight.rows, want), tokens);
  }
  result.amax_x = input.amax;
  result.amax_w = weight.amax;
  if (!call.needs_x && !call.needs_w) return result;
  const bool keeps_x = call.needs_w && plan_.dw.right.granularity == Granularity::kNone;
  if (keeps_x) {
    result.kept = {call.x, nothing(x)};
  } else {
    keep(result.kept, input.columns, x);
  }
  keep(result.kept, call.needs_x ? weight.columns : std::nullopt, x);
  return result;
}

Matrix CudaBackend::high_precision_w(const Matrix& grad_y, const Matrix& x, bool float32) const {
  const Matrix left = torch::stable::transpose(grad_y, 0, 1);
  if (!float32 || x.scalar_type() == ScalarType::Float) return torch_op("aten::mm", "", left, x);
  if (!x.is_cpu()) return torch_op("aten::mm", "dtype", left, x, ScalarType::Float);
  return torch_op("aten::mm", "", torch::stable::to(left, ScalarType::Float),
                  torch::stable::to(x, ScalarType::Float));
}

Backward CudaBackend::backward(const BackwardCall& call) {
  const auto guard = on_device_of(call.grad_y);
  const Matrix grad_y = aligned(call.grad_y);
  const int64_t multiple = size_multiple(plan_.recipe), tokens = rows_of(grad_y),
                out = columns_of(grad_y);
  const int64_t padded_in = round_up(call.in_features, multiple);
  Backward result;
  if (tokens == 0) {
    if (call.needs_x) result.x = zeros(grad_y, 0, call.in_features);
    if (call.needs_w && !call.accumulate_w) result.w = zeros(grad_y, out, call.in_features);
    if (call.needs_bias) {
      Matrix none = new_vector(grad_y, out, grad_y.scalar_type());
      result.bias = torch::stable::zero_(none);
    }
    return result;
  }
  const Quantised grad = quantise(
      grad_y, {wanted(plan_.dx.left, call.needs_x), wanted(plan_.dw.left, call.needs_w),
               call.stored.grad_y, call.needs_bias, round_up(tokens, multiple), call.stream});
  result.bias = grad.sums;
  result.amax = grad.amax;
  const auto kept = [&](Kept bytes, Kept scales, const Cast& cast, bool as_vector) {
    return Operand{call.kept.at(bytes), call.kept.at(scales), cast.format,
                   as_vector ? Granularity::kVector : cast.granularity};
  };
  if (call.needs_x) {
    Want want{grad_y};
    want.fast = settings_.fast_dx;
    want.stream = call.stream;
    const bool as_vector = plan_.dx.left.granularity == Granularity::kVector;
    const Matrix padded = multiply(*grad.rows, kept(kW, kWScales, plan_.dx.right, as_vector), want);
    result.x = first_columns(first_rows(padded, tokens), call.in_features);
  }
  if (!call.needs_w) return result;
  const bool float32 = call.float32_w || call.accumulate_w;
  if (plan_.dw.left.granularity == Granularity::kNone) {
    result.w = high_precision_w(grad_y, call.kept.at(kX), float32);
    return result;
  }
  Want want{grad_y};
  want.fast = settings_.fast_dw;
  want.float32 = float32;
  // Of a padded product only a part belongs to the gradient; one that is scaled afterwards cannot
  // be added to another.
  const bool in_place =
      padded_in == call.in_features && mode_of(plan_.dw.left.granularity) != ScaleMode::kUnit;
  if (in_place) want.into = call.accumulate_w;
  want.stream = call.stream;
  const Matrix product = multiply(*grad.columns, kept(kX, kXScales, plan_.dw.right, false), want);
  if (!want.into) result.w = first_columns(product, call.in_features);
  return result;
}

CastReport CudaBackend::measure(const Matrix& a, const Cast& cast,
                                const std::optional<Matrix>& stored, void* stream) {
  const auto guard = on_device_of(a);
  return measure_cast(aligned(pad_columns(a, size_multiple(plan_.recipe))), cast, stored, stream);
}

void CudaBackend::stage(const std::vector<Staged>& staged, void* stream) {
  StageArguments a{};
  for (const Staged& one : staged) {
    a.amax[a.count] = static_cast<const float*>(one.amax.const_data_ptr());
    Matrix history = one.history;
    a.slots[a.count++] = static_cast<float*>(history.mutable_data_ptr());
  }
  if (a.count == 0) return;
  const auto guard = on_device_of(staged.front().history);
  check_launch(launch_stage(a, stream), "stage an amax");
}

void CudaBackend::update(const std::vector<DelayedState>& states, const DelayedOptions& options,
                         void* stream) {
  if (states.empty()) return;
  ++updates_;
  const auto guard = on_device_of(states.front().history);
  UpdateArguments a{};
  a.length = options.history_length;
  a.most_recent = options.algorithm == AmaxAlgorithm::kMostRecent;
  for (size_t i = 0; i < states.size(); ++i) {
    Matrix history = states[i].history, scale = states[i].scale;
    a.states[a.count++] = {static_cast<float*>(history.mutable_data_ptr()),
                           static_cast<float*>(scale.mutable_data_ptr()),
                           largest_scaled(states[i].format, options)};
    if (a.count < UpdateArguments::kStates && i + 1 < states.size()) continue;
    check_launch(launch_update(a, stream), "update the scales");
    a.count = 0;
  }
}

}  // namespace float8::device

namespace float8 {

std::unique_ptr<Backend> make_cuda_backend(const Plan& plan, const DeviceSettings& settings) {
  return std::make_unique<device::CudaBackend>(plan, settings, &device::load_cublaslt);
}

bool built_with_cuda() { return true; }
int64_t built_for_cublaslt() { return CUBLAS_VERSION; }

}  // namespace float8
