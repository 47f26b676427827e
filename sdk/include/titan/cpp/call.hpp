/// Code for a module in C++: forward and backward as virtual functions.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tensor.hpp"

namespace titan::sdk {

/// One call of one module; see call.h for the rules. Valid until forward or backward returns.
class Call {
 public:
  explicit Call(titan_call* call) noexcept : call_(call) {}
  titan_call* get() const noexcept { return call_; }
  titan_call_info info() const {
    auto info = sized<titan_call_info>();
    check(host().call_info(call_, &info));
    return info;
  }
  bool training() const { return info().flags & TITAN_CALL_TRAINING; }
  /// Whether state may change in this call: training, and not a recompute.
  bool updates_state() const {
    return (info().flags & (TITAN_CALL_TRAINING | TITAN_CALL_RECOMPUTE)) == TITAN_CALL_TRAINING;
  }
  /// An input, parameter or buffer by name; after the module ran also its output "y".
  TensorRef get(std::string_view name) const {
    titan_tensor* tensor = nullptr;
    check(host().call_get(call_, to_string(name), &tensor));
    return tensor;
  }
  void set(std::string_view name, Tensor tensor) const {
    check(host().call_set(call_, to_string(name), tensor.release()));
  }
  void save(TensorRef tensor) const { check(host().call_save(call_, tensor.get())); }
  TensorRef saved(uint64_t index) const {
    titan_tensor* tensor = nullptr;
    check(host().call_saved(call_, index, &tensor));
    return tensor;
  }
  TensorRef grad_output() const {
    titan_tensor* tensor = nullptr;
    check(host().call_grad_output(call_, &tensor));
    return tensor;
  }
  bool needs_grad(std::string_view name) const {
    int32_t needed = 0;
    check(host().call_needs_grad(call_, to_string(name), &needed));
    return needed != 0;
  }
  void set_grad(std::string_view name, Tensor tensor) const {
    check(host().call_set_grad(call_, to_string(name), tensor.release()));
  }
#if TITAN_API_VERSION >= 2
  /// The sum of this parameter's gradients so far, to add to in place (see host.h). False as a bool
  /// where the host offers none, or is of level 1: then set_grad.
  TensorRef grad_accumulator(std::string_view parameter) const {
    titan_tensor* sum = nullptr;
    if (host_has(&titan_host::call_grad_accumulator))
      check(host().call_grad_accumulator(call_, to_string(parameter), &sum));
    return sum;
  }
  /// The gradient is in what grad_accumulator gave.
  void grad_accumulated(std::string_view parameter) const {
    check(host().call_grad_accumulated(call_, to_string(parameter)));
  }
#endif
  void metric(std::string_view name, double value) const {
    check(host().call_metric(call_, to_string(name), value));
  }

 private:
  titan_call* call_;
};

/// Who computes gradients: the plugin's own backward, or torch's autograd through the operators
/// that forward calls.
enum class Gradients { kOwn, kTorch };

/// Code for one module; the host owns the object once it is recorded.
class Impl {
 public:
  explicit Impl(Gradients gradients, uint32_t flags = 0) noexcept {
    table_ = sized<titan_module_impl>();
    table_.flags = flags | (gradients == Gradients::kTorch ? TITAN_IMPL_TORCH_AUTOGRAD : 0u);
    table_.forward = [](void* self, titan_call* call) noexcept {
      return guard([&] { static_cast<Impl*>(self)->forward(Call(call)); });
    };
    if (gradients == Gradients::kOwn)
      table_.backward = [](void* self, titan_call* call) noexcept {
        return guard([&] { static_cast<Impl*>(self)->backward(Call(call)); });
      };
    table_.drop = [](void* self) noexcept { static_cast<Impl*>(self)->drop(); };
    table_.destroy = [](void* self) noexcept { delete static_cast<Impl*>(self); };
  }
  virtual ~Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  virtual void forward(const Call& call) = 0;
  virtual void backward(const Call&) {
    throw Error(TITAN_INTERNAL, "the plugin declared its own gradients but has no backward",
                "override backward, or construct Impl with Gradients::kTorch");
  }
  virtual void drop() noexcept {}
  const titan_module_impl& table() const noexcept { return table_; }

 private:
  titan_module_impl table_;
};

/// Looks at a module's inputs and output after each call.
class Observer {
 public:
  Observer() noexcept {
    table_ = sized<titan_observer>();
    table_.observe = [](void* self, titan_call* call) noexcept {
      return guard([&] { static_cast<Observer*>(self)->observe(Call(call)); });
    };
    table_.destroy = [](void* self) noexcept { delete static_cast<Observer*>(self); };
  }
  virtual ~Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual void observe(const Call& call) = 0;
  const titan_observer& table() const noexcept { return table_; }

 private:
  titan_observer table_;
};

}  // namespace titan::sdk
