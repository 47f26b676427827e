#include "linear.h"

#include <cmath>
#include <string>
#include <titan/torch.hpp>
#include <vector>

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

/// `operand` as in kOperands.
std::string scale_name(const char* operand) { return std::string(operand) + ".scale"; }
std::string history_name(const char* operand) { return std::string(operand) + ".amax_history"; }

StoredScales stored_scales(const Call& call) {
  const auto scale = [&](const char* operand) { return to_torch(call.get(scale_name(operand))); };
  return {scale(kOperands[0]), scale(kOperands[1]), scale(kOperands[2])};
}

Staged staged(const Call& call, const char* operand, const Matrix& amax) {
  return {to_torch(call.get(history_name(operand))), amax};
}

void report(const Call& call, Backend& backend, const char* operand, const Matrix& a,
            const Cast& cast, const std::optional<Matrix>& stored, void* stream) {
  if (cast.granularity == Granularity::kNone || a.numel() == 0) return;
  const CastReport measured = backend.measure(a, cast, stored, stream);
  const std::string name = operand;
  call.metric(name + ".amax", measured.amax);
  call.metric(name + ".scale_min", measured.scale_min);
  call.metric(name + ".scale_max", measured.scale_max);
  call.metric(name + ".underflow", measured.underflow);
  call.metric(name + ".saturation", measured.saturation);
  if (std::isfinite(measured.sqnr_db)) call.metric(name + ".sqnr_db", measured.sqnr_db);
}

bool metrics_are_due(const titan_call_info& info, int64_t frequency) {
  return frequency > 0 && info.step % frequency == 0 && info.micro_batch == 0 &&
         (info.flags & TITAN_CALL_TRAINING) && !(info.flags & TITAN_CALL_RECOMPUTE);
}

}  // namespace

void Float8Linear::drop() noexcept { memory_ = options_->backend->make_memory(); }

void Float8Linear::forward(const Call& call) {
  const titan::sdk::TensorRef w_ref = call.get("weight");
  const Matrix x = to_torch(call.get("x")), w = to_torch(w_ref);
  check_types(x, w);
  const titan_call_info info = call.info();
  const bool with_gradients = info.flags & TITAN_CALL_GRAD_ENABLED;
  ForwardCall forward{as_matrix(x), as_matrix(w)};
  if (has_bias_) forward.bias = to_torch(call.get("bias"));
  if (options_->delayed) forward.stored = stored_scales(call);
  forward.needs_x = with_gradients && call.needs_grad("x");
  forward.needs_w = with_gradients && call.needs_grad("weight");
  forward.memory = memory_.get();
  forward.weight_version = w_ref.info().version;
  forward.stream = info.stream;
  if (metrics_are_due(info, options_->metrics_freq)) {
    report(call, *options_->backend, kOperands[0], forward.x, options_->plan.y.left,
           forward.stored.x, info.stream);
    report(call, *options_->backend, kOperands[1], forward.w, options_->plan.y.right,
           forward.stored.w, info.stream);
  }
  const Forward result = options_->backend->forward(forward);
  if (result.amax_x && result.amax_w && call.updates_state())
    options_->backend->stage(
        {staged(call, kOperands[0], *result.amax_x), staged(call, kOperands[1], *result.amax_w)},
        info.stream);
  if (with_gradients)
    for (const Matrix& kept : result.kept) call.save(from_torch(kept).ref());
  call.set("y", from_torch(in_shape_of(result.y, x, w.size(0))));
}

void Float8Linear::backward(const Call& call) {
  BackwardCall backward{as_matrix(to_torch(call.grad_output()))};
  backward.needs_x = call.needs_grad("x");
  backward.needs_w = call.needs_grad("weight");
  backward.needs_bias = has_bias_ && call.needs_grad("bias");
  if (!backward.needs_x && !backward.needs_w && !backward.needs_bias) return;
  const titan_call_info info = call.info();
  if (backward.needs_x || backward.needs_w)
    for (uint64_t i = 0; i < options_->backend->kept_count(); ++i)
      backward.kept.push_back(to_torch(call.saved(i)));
  if (options_->delayed) backward.stored = stored_scales(call);
  backward.in_features = in_features_;
  if (backward.needs_w && options_->float32_grad_weight) {
    backward.float32_w = true;
    if (const titan::sdk::TensorRef sum = call.grad_accumulator("weight"))
      backward.accumulate_w = to_torch(sum);
  }
  backward.stream = info.stream;
  if (metrics_are_due(info, options_->metrics_freq))
    report(call, *options_->backend, kOperands[2], backward.grad_y, options_->plan.dx.left,
           backward.stored.grad_y, info.stream);
  const Backward grads = options_->backend->backward(backward);
  if (grads.amax && (info.flags & TITAN_CALL_TRAINING))
    options_->backend->stage({staged(call, kOperands[2], *grads.amax)}, info.stream);
  if (backward.needs_x)
    call.set_grad("x",
                  from_torch(in_shape_of(*grads.x, to_torch(call.grad_output()), in_features_)));
  if (backward.needs_w && grads.w) call.set_grad("weight", from_torch(*grads.w));
  if (backward.needs_w && !grads.w) call.grad_accumulated("weight");
  if (backward.needs_bias) call.set_grad("bias", from_torch(*grads.bias));
}

void add_delayed_state(const titan::sdk::Module& module, const DelayedOptions& options) {
  constexpr titan_dl_dtype kFloat32 = {2, 32, 1};
  for (const char* operand : kOperands) {
    // 0 means none yet. Every rank sees other tensors: the staged magnitudes are reduced with the
    // histories.
    module.add_buffer(scale_name(operand), {1}, kFloat32, titan::sdk::init_constant(0));
    module.add_buffer(history_name(operand), {options.history_length}, kFloat32,
                      titan::sdk::init_constant(0), TITAN_SPEC_REDUCE_MAX);
  }
}

void update_delayed_states(const titan::sdk::Hook& hook, const LinearOptions& options) {
  std::vector<DelayedState> states;
  for (const titan_hook_tensor& tensor : hook.tensors()) {
    const std::string name(titan::sdk::to_view(tensor.fqn));
    const std::string suffix = ".amax_history";
    if (!(tensor.flags & TITAN_HOOK_TENSOR_BUFFER) || !name.ends_with(suffix)) continue;
    const std::string place = name.substr(0, name.size() - suffix.size());
    states.push_back({to_torch(tensor.tensor), to_torch(hook.find(place + ".scale").tensor),
                      place.ends_with(kOperands[2]) ? options.plan.dx.left.format : Format::kE4M3});
  }
  options.backend->update(states, *options.delayed, hook.info().stream);
}

}  // namespace float8
