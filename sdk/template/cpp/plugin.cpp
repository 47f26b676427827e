/// A converter in C++ that needs no LibTorch (tier none): linear layers get one learned gain per
/// output channel, y = gain * (W x), with a backward of its own. In CPU memory.
#include <titan/titan_sdk.hpp>

#include "titan_note.h"  // made from @NAME@.json

namespace {

using namespace titan::sdk;  // NOLINT: a plugin is one file with hidden symbols

/// Calls body(T()) with the element type T of `tensor`: float, double, or the bfloat16 that mixed
/// precision makes of outputs and gradients.
template <class Body>
void with_type(TensorRef tensor, const Body& body) {
  switch (tensor.info().dtype.bits) {
    case 64: return body(double());
    case 32: return body(float());
    default: return body(BFloat16());  // data<BFloat16>() refuses what is anything else
  }
}

double to_number(double value) { return value; }
double to_number(float value) { return value; }
double to_number(BFloat16 value) { return static_cast<float>(value); }

template <class T>
T to_type(double value) {
  if constexpr (std::is_same_v<T, BFloat16>)
    return BFloat16(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

/// A new tensor with rows [.., channels] each multiplied by gain [channels].
Tensor multiply(TensorRef rows, TensorRef gain) {
  Tensor out = Tensor::empty_like(rows);
  with_type(rows, [&](auto zero) {
    using T = decltype(zero);
    const T* from = rows.data<T>();
    const T* by = gain.data<T>();
    T* to = out.ref().data<T>();
    const int64_t count = rows.numel(), channels = gain.numel();
    for (int64_t i = 0; i < count; ++i)
      to[i] = to_type<T>(to_number(from[i]) * to_number(by[i % channels]));
  });
  return out;
}

/// The sum over rows of a * b, both [.., channels]; shaped like `gain`.
Tensor sum_of_products(TensorRef a, TensorRef b, TensorRef gain) {
  Tensor out = Tensor::empty_like(gain);
  with_type(a, [&](auto zero) {
    using T = decltype(zero);
    const T *left = a.data<T>(), *right = b.data<T>();
    const int64_t count = a.numel(), channels = gain.numel();
    std::vector<double> sum(channels, 0.0);
    for (int64_t i = 0; i < count; ++i)
      sum[i % channels] += to_number(left[i]) * to_number(right[i]);
    T* to = out.ref().data<T>();
    for (int64_t c = 0; c < channels; ++c) to[c] = to_type<T>(sum[c]);
  });
  return out;
}

/// Runs after a linear layer, whatever computed that.
class Gain final : public Impl {
 public:
  Gain() : Impl(Gradients::kOwn) {}
  void forward(const Call& call) override {
    const TensorRef y = call.get("y");
    call.save(y);  // the one thing that backward needs and is not given
    call.set("y", multiply(y, call.get("gain")));
  }
  /// With z = gain * y: dy = gain * dz, and dgain is the sum of y * dz over all rows.
  void backward(const Call& call) override {
    const TensorRef dz = call.grad_output(), gain = call.get("gain");
    if (call.needs_grad("y")) call.set_grad("y", multiply(dz, gain));
    if (call.needs_grad("gain")) call.set_grad("gain", sum_of_products(call.saved(0), dz, gain));
  }
};

class Converter {
 public:
  /// What it cannot do is said before any weight exists.
  explicit Converter(const Create& create) : start_(create.option<double>("start")) {
    if (create.device().type != TITAN_CPU)
      throw Error(TITAN_UNSUPPORTED, "@NAME@ works in CPU memory only", "set training.device: cpu");
  }

  /// Only records; titan checks the records of all converters and then applies them.
  void convert(const Model& model) const {
    for (const Module& module : model.modules("linear")) {
      const auto out = static_cast<int64_t>(module.attribute("out_features"));
      module.add_parameter("gain", {out}, init_constant(start_));
      module.wrap_after(std::make_unique<Gain>());
    }
  }

 private:
  double start_;
};

}  // namespace

TITAN_CONVERTERS(converter<Converter>("@NAME@"))
