#include "linear.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <titan/torch.hpp>
#include <vector>

#include "cpu_cast.h"
#include "matrix.h"

namespace float8 {
namespace {

using titan::sdk::Call;
using titan::sdk::from_torch;
using titan::sdk::to_torch;

/// [.., columns] as a contiguous matrix; a view where torch can make one.
Matrix as_matrix(const Matrix& a) {
  const auto sizes = a.sizes();
  const int64_t columns = sizes[sizes.size() - 1];
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < sizes.size(); ++i) rows *= sizes[i];
  const std::array<int64_t, 2> shape{rows, columns};
  return torch::stable::contiguous(torch::stable::reshape(a, {shape.data(), shape.size()}));
}

/// A matrix with `columns` columns in the leading dimensions of `like`.
Matrix in_shape_of(const Matrix& matrix, const Matrix& like, int64_t columns) {
  const auto sizes = like.sizes();
  std::vector<int64_t> shape(sizes.begin(), sizes.end());
  shape.back() = columns;
  return torch::stable::reshape(matrix, {shape.data(), shape.size()});
}

/// Second half of the promise that layers with other sizes were left alone at conversion.
void check_types(const Matrix& x, const Matrix& w) {
  input_type(x);
  if (x.scalar_type() != w.scalar_type())
    throw titan::sdk::Error(TITAN_INTERNAL, std::string("the input is ") +
                                                torch::headeronly::toString(x.scalar_type()) +
                                                " and the weight " +
                                                torch::headeronly::toString(w.scalar_type()));
}

/// Saved by forward in this order.
enum Saved : uint64_t { kInput, kWeight, kKept };

/// `operand` as in kOperands.
std::string scale_name(const char* operand) { return std::string(operand) + ".scale"; }
std::string history_name(const char* operand) { return std::string(operand) + ".amax_history"; }

StoredScales stored_scales(const Call& call) {
  const auto scale = [&](const char* operand) { return to_torch(call.get(scale_name(operand))); };
  return {scale(kOperands[0]), scale(kOperands[1]), scale(kOperands[2])};
}

/// Slot 0 of a history takes the largest of what the micro-batches of a step have.
void stage(const Call& call, const char* operand, const Matrix& amax, int64_t index) {
  const Matrix history = to_torch(call.get(history_name(operand)));
  auto* slot = static_cast<float*>(history.mutable_data_ptr());
  *slot = std::max(*slot, static_cast<const float*>(amax.const_data_ptr())[index]);
}

/// How well a tensor fits its format in the product it is quantised for first.
void report(const Call& call, const char* operand, const Matrix& a, const Cast& cast, const StoredScales& stored) {
  if (cast.granularity == Granularity::kNone || a.numel() == 0) return;
  const std::optional<Matrix>& kept = operand == kOperands[0] ? stored.x : operand == kOperands[1] ? stored.w : stored.grad_y;
  const bool use_kept = kept && *static_cast<const float*>(kept->const_data_ptr()) != 0;
  const Matrix scales = use_kept ? *kept : scales_of(a, cast, Along::kColumns);
  const auto* values = static_cast<const float*>(scales.const_data_ptr());
  const CastLoss loss = loss_of_cast(a, cast, Along::kColumns, scales);
  const std::string name = operand;
  call.metric(name + ".amax", find_amax(a));
  call.metric(name + ".scale_min", *std::min_element(values, values + scales.numel()));
  call.metric(name + ".scale_max", *std::max_element(values, values + scales.numel()));
  call.metric(name + ".underflow", loss.underflow);
  call.metric(name + ".saturation", loss.saturation);
  if (std::isfinite(loss.sqnr_db)) call.metric(name + ".sqnr_db", loss.sqnr_db);
}

bool metrics_are_due(const titan_call_info& info, int64_t frequency) {
  return frequency > 0 && info.step % frequency == 0 && info.micro_batch == 0 && (info.flags & TITAN_CALL_TRAINING) &&
         !(info.flags & TITAN_CALL_RECOMPUTE);
}

}  // namespace

void Float8Linear::forward(const Call& call) {
  const titan::sdk::TensorRef x_ref = call.get("x");
  const titan::sdk::TensorRef w_ref = call.get("weight");
  const Matrix x = to_torch(x_ref);
  const Matrix w = to_torch(w_ref);
  check_types(x, w);
  const titan_call_info info = call.info();
  const StoredScales stored = options_->delayed ? stored_scales(call) : StoredScales();
  const Matrix rows = as_matrix(x), weight = as_matrix(w);
  if (metrics_are_due(info, options_->metrics_freq)) {
    report(call, kOperands[0], rows, options_->plan.y.left, stored);
    report(call, kOperands[1], weight, options_->plan.y.right, stored);
  }
  const Forward result = options_->backend->forward(rows, weight, stored, info.stream);
  if (result.amax && call.updates_state()) {
    stage(call, kOperands[0], *result.amax, 0);
    stage(call, kOperands[1], *result.amax, 1);
  }
  if (info.flags & TITAN_CALL_GRAD_ENABLED) {
    call.save(x_ref);
    call.save(w_ref);
    call.save(from_torch(result.kept).ref());
  }
  call.set("y", from_torch(in_shape_of(result.y, x, w.size(0))));
}

void Float8Linear::backward(const Call& call) {
  const Matrix x = to_torch(call.saved(kInput));
  const Matrix w = to_torch(call.saved(kWeight));
  const Matrix kept = to_torch(call.saved(kKept));
  const bool needs_x = call.needs_grad("x");
  const bool needs_w = call.needs_grad("weight");
  if (!needs_x && !needs_w) return;
  const StoredScales stored = options_->delayed ? stored_scales(call) : StoredScales();
  const titan_call_info info = call.info();
  const Matrix grad_y = as_matrix(to_torch(call.grad_output()));
  if (metrics_are_due(info, options_->metrics_freq)) report(call, kOperands[2], grad_y, options_->plan.dx.left, stored);
  const Backward grads =
      options_->backend->backward(grad_y, as_matrix(x), as_matrix(w), kept, stored, needs_x, needs_w, info.stream);
  if (grads.amax && (info.flags & TITAN_CALL_TRAINING)) stage(call, kOperands[2], *grads.amax, 0);
  if (needs_x) call.set_grad("x", from_torch(in_shape_of(*grads.x, x, w.size(1))));
  if (needs_w) call.set_grad("weight", from_torch(*grads.w));
}

void add_delayed_state(const titan::sdk::Module& module, const DelayedOptions& options) {
  constexpr titan_dl_dtype kFloat32 = {2, 32, 1};
  for (const char* operand : kOperands) {
    // 0 means none yet. Every rank sees other tensors: the staged magnitudes are reduced with the histories.
    module.add_buffer(scale_name(operand), {1}, kFloat32, titan::sdk::init_constant(0));
    module.add_buffer(history_name(operand), {options.history_length}, kFloat32, titan::sdk::init_constant(0),
                      TITAN_SPEC_REDUCE_MAX);
  }
}

void update_delayed_states(const titan::sdk::Hook& hook, const DelayedOptions& options, Format gradients) {
  for (const titan_hook_tensor& tensor : hook.tensors()) {
    const std::string name(titan::sdk::to_view(tensor.fqn));
    const std::string suffix = ".amax_history";
    if (!(tensor.flags & TITAN_HOOK_TENSOR_BUFFER) || !name.ends_with(suffix)) continue;
    const std::string place = name.substr(0, name.size() - suffix.size());
    const Matrix history = to_torch(tensor.tensor);
    const Matrix scale = to_torch(hook.find(place + ".scale").tensor);
    update_delayed(static_cast<float*>(history.mutable_data_ptr()), static_cast<float*>(scale.mutable_data_ptr()),
                   place.ends_with(kOperands[2]) ? gradients : Format::kE4M3, options);
  }
}

}  // namespace float8
