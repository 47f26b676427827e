/// Linear layers that use what came with level 2 of the contract, and run on a host of level 1 too.
#include <titan/titan_sdk.hpp>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "titan_note.h"

namespace {

using namespace titan::sdk;  // NOLINT

constexpr titan_dl_dtype kFloat32{TITAN_DTYPE_FLOAT, 32, 1};

/// The values as float32, whether they are float32 or bfloat16; other types are refused.
std::vector<float> read(TensorRef tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.numel()));
  const titan_dl_dtype type = tensor.info().dtype;
  for (size_t i = 0; i < values.size(); ++i)
    values[i] =
        type.bits == 16 ? static_cast<float>(tensor.data<BFloat16>()[i]) : tensor.data<float>()[i];
  return values;
}

/// A tensor of that type on the CPU.
Tensor written(TensorRef like, titan_dl_dtype type, const std::vector<int64_t>& shape,
               const std::vector<float>& values) {
  Tensor made = Tensor::empty(like, type, shape);
  for (size_t i = 0; i < values.size(); ++i) {
    if (type.bits == 16)
      made.ref().data<BFloat16>()[i] = BFloat16(values[i]);
    else
      made.ref().data<float>()[i] = values[i];
  }
  return made;
}

class SummedLinear final : public Impl {
 public:
  SummedLinear(int64_t in, int64_t out, bool wide, bool in_place)
      : Impl(Gradients::kOwn), in_(in), out_(out), wide_(wide), in_place_(in_place) {}

  void forward(const Call& call) override {
    const TensorRef x = call.get("x");
    const std::vector<float> values = read(x), weight = read(call.get("weight"));
    const int64_t rows = x.numel() / in_;
    std::vector<float> y(static_cast<size_t>(rows * out_));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t o = 0; o < out_; ++o)
        for (int64_t i = 0; i < in_; ++i)
          y[r * out_ + o] += values[r * in_ + i] * weight[o * in_ + i];
    std::vector<int64_t> shape = x.shape();
    shape.back() = out_;
    call.save(x);
    call.set("y", written(x, x.info().dtype, shape, y));
  }

  void backward(const Call& call) override {
    const TensorRef dy = call.grad_output(), x = call.saved(0);
    const std::vector<float> given = read(dy), values = read(x);
    const int64_t rows = dy.numel() / out_;
    if (call.needs_grad("x")) {
      const std::vector<float> weight = read(call.get("weight"));
      std::vector<float> dx(static_cast<size_t>(rows * in_));
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t o = 0; o < out_; ++o)
          for (int64_t i = 0; i < in_; ++i)
            dx[r * in_ + i] += given[r * out_ + o] * weight[o * in_ + i];
      call.set_grad("x", written(x, x.info().dtype, x.shape(), dx));
    }
    if (!call.needs_grad("weight")) return;
    std::vector<float> dw(static_cast<size_t>(out_ * in_));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t o = 0; o < out_; ++o)
        for (int64_t i = 0; i < in_; ++i)
          dw[o * in_ + i] += given[r * out_ + o] * values[r * in_ + i];
    const TensorRef sum = in_place_ ? call.grad_accumulator("weight") : TensorRef();
    if (sum && sum.info().dtype.bits == 32) {
      for (size_t i = 0; i < dw.size(); ++i) sum.data<float>()[i] += dw[i];
      call.grad_accumulated("weight");
    } else {
      call.set_grad("weight", written(dy, wide_ ? kFloat32 : dy.info().dtype, {out_, in_}, dw));
    }
    call.metric("in_place", sum ? 1 : 0);
  }

 private:
  int64_t in_, out_;
  bool wide_;  ///< the weight is kept in float32, and the host takes its gradient so
  bool in_place_;
};

class Converter {
 public:
  explicit Converter(const Create& create)
      : wide_(create.parameter_dtype().bits == 32),  // a host of level 1 says 0
        in_place_(create.option<bool>("in_place")),
        speedup_(create.option<double>("speedup")),
        tokens_(create.tokens_per_call()),
        bits_(create.compute_dtype().bits) {
    if (create.device().type != TITAN_CPU)
      throw Error(TITAN_UNSUPPORTED, "summed_linear computes on the CPU only",
                  "set training.device: cpu");
  }
  void convert(const Model& model) const {
    for (const Module& module : model.modules(TITAN_KIND_LINEAR)) {
      module.replace(std::make_unique<SummedLinear>(
          static_cast<int64_t>(module.attribute("in_features")),
          static_cast<int64_t>(module.attribute("out_features")), wide_, in_place_));
      if (speedup_ != 0 && tokens_ != 0)
        module.predict(speedup_, tokens_, "made up, for " + std::to_string(bits_) + " bits");
    }
  }
  void post_optimizer_hook(const Hook& hook) const {
    const titan_hook_info info = hook.info();
    if (info.reason != TITAN_HOOK_STEP) return;
    hook.metric("device", info.device.type);
    hook.metric("has_stream", info.stream ? 1 : 0);
  }

 private:
  bool wide_, in_place_;
  double speedup_;
  int64_t tokens_;
  int bits_;
};

}  // namespace

TITAN_CONVERTERS(converter<Converter>("summed_linear"))
