/// A converter with state, as delayed scaling has it: outputs of linear layers are multiplied by
/// 1 / (1 + amax / 64), where amax is the largest output of the step before. It reports how often
/// it was called and how often its state changed.
#include <titan/titan_sdk.hpp>

#include <algorithm>
#include <cmath>

#include "titan_note.h"  // made from running_scale.json

namespace {

using namespace titan::sdk;  // NOLINT: a plugin is one file with hidden symbols

struct State {
  double scale = 1;  // of this step
  double amax = 0;   // seen in this step
  int64_t updates = 0, first = 0, second = 0, without_training = 0, backward = 0;
};

template <class T>
double scale_into(TensorRef in, TensorRef out, double factor) {
  const T* from = in.data<T>();
  T* to = out.data<T>();
  double amax = 0;
  for (int64_t i = 0; i < in.numel(); ++i) {
    amax = std::max(amax, static_cast<double>(std::fabs(static_cast<float>(from[i]))));
    to[i] = T(static_cast<float>(factor) * static_cast<float>(from[i]));
  }
  return amax;
}

/// Returns the scaled tensor; `amax` of what went in.
Tensor scaled(TensorRef in, double factor, double* amax) {
  Tensor out = Tensor::empty_like(in);
  *amax = in.info().dtype.bits == 16 ? scale_into<BFloat16>(in, out.ref(), factor)
                                     : scale_into<float>(in, out.ref(), factor);
  return out;
}

class Scale final : public Impl {
 public:
  explicit Scale(std::shared_ptr<State> state) : Impl(Gradients::kOwn), state_(std::move(state)) {}
  void forward(const Call& call) override {
    double amax = 0;
    call.set("y", scaled(call.get("y"), state_->scale, &amax));
    const uint32_t flags = call.info().flags;
    ++(!(flags & TITAN_CALL_TRAINING) ? state_->without_training
       : flags & TITAN_CALL_RECOMPUTE ? state_->second
                                      : state_->first);
    if (!call.updates_state()) return;
    state_->amax = std::max(state_->amax, amax);
    ++state_->updates;
  }
  void backward(const Call& call) override {
    double ignored = 0;
    call.set_grad("y", scaled(call.grad_output(), state_->scale, &ignored));
    if (call.info().flags & TITAN_CALL_RECOMPUTE)
      throw Error(TITAN_INTERNAL, "backward runs once and must not be marked as a repetition");
    ++state_->backward;
  }

 private:
  std::shared_ptr<State> state_;
};

class RunningScale {
 public:
  explicit RunningScale(const Create&) {}
  void convert(const Model& model) {
    for (const Module& module : model.modules("linear"))
      module.wrap_after(std::make_unique<Scale>(state_));
  }
  void post_optimizer_hook(const Hook& hook) {
    State& state = *state_;
    hook.metric("scale", state.scale);
    hook.metric("amax", state.amax);
    hook.metric("updates", static_cast<double>(state.updates));
    hook.metric("first_forwards", static_cast<double>(state.first));
    hook.metric("second_forwards", static_cast<double>(state.second));
    hook.metric("forwards_without_training", static_cast<double>(state.without_training));
    hook.metric("backwards", static_cast<double>(state.backward));
    const double scale = 1 / (1 + state.amax / 64);
    state = State();
    state.scale = scale;
  }

 private:
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace

TITAN_CONVERTERS(converter<RunningScale>("running_scale"))
