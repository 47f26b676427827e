/// A linear layer of the tiny model whose backward is the test's, and helpers to hand in gradients.
#pragma once

#include <ATen/TensorOperators.h>

#include "converters/scripted_plugin.h"
#include "model/mixed_precision.h"
#include "support/tiny_model.h"

namespace titan::converters {

using sdk::Call;
using sdk::Tensor;
using sdk::TensorRef;
using test::ScriptedLinear;
using test::TinyModel;

constexpr titan_dl_dtype kFloat32{TITAN_DTYPE_FLOAT, 32, 1}, kFloat64{TITAN_DTYPE_FLOAT, 64, 1},
    kBFloat16{TITAN_DTYPE_BFLOAT, 16, 1};

/// Irregular float32 values that bfloat16 cannot hold.
inline at::Tensor values(at::IntArrayRef shape, int64_t seed) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return (at::arange(count, at::kFloat) * 0.7310593f + static_cast<double>(seed))
             .sin()
             .view(shape) +
         1e-3;
}

/// `from` as a tensor of the plugin.
inline Tensor handed(TensorRef like, const at::Tensor& from) {
  const titan_dl_dtype dtype = from.scalar_type() == at::kDouble     ? kFloat64
                               : from.scalar_type() == at::kBFloat16 ? kBFloat16
                                                                     : kFloat32;
  Tensor made = Tensor::empty(like, dtype, from.sizes().vec());
  std::memcpy(made.ref().dl().data, from.const_data_ptr(), from.nbytes());
  return made;
}

inline void add_in_place(TensorRef sum, const at::Tensor& more) {
  float* to = sum.data<float>();
  const float* from = more.const_data_ptr<float>();
  for (int64_t i = 0; i < more.numel(); ++i) to[i] += from[i];
}

/// Zeros for x where they are asked for.
inline void leave_x(const Call& call) {
  if (call.needs_grad("x"))
    call.set_grad("x",
                  handed(call.grad_output(),
                         at::zeros({3, 4}).to(call.info().compute_dtype.bits == 16 ? at::kBFloat16
                                                                                   : at::kFloat)));
}

class ParameterGradient : public ::testing::Test {
 protected:
  /// Replaces linear modules by zeros with this backward, and gives the model values.
  void replace(const std::vector<std::string>& fqns, const ScriptedLinear::Code& backward,
               const std::function<void(const sdk::Model&)>& more = {},
               const ScriptedLinear::Code& forward = {}) {
    container_ = test::scripted({{},
                                 [&](const sdk::Model& found) {
                                   for (const std::string& fqn : fqns)
                                     found.find(fqn)->replace(
                                         std::make_unique<ScriptedLinear>(backward, forward));
                                   if (more) more(found);
                                 },
                                 {}});
    container_->convert(model_);
    model::materialize(model_, at::kCPU, 3);
  }
  void pass(int64_t micro_batch = 0, bool find_nonfinite = false) {
    model::CallContext context;
    context.step = 1;
    context.micro_batch = micro_batch;
    context.training = true;
    context.mixed_precision = mixed_ ? &precision_ : nullptr;
    context.find_nonfinite = find_nonfinite;
    const at::Tensor x = (at::arange(12, at::kFloat).view({3, 4}) / 10).requires_grad_();
    model_(context, {x}).sum().backward();
  }
  at::Tensor& weight(const std::string& fqn) {
    return model_.find(fqn)->parameter("weight").tensor;
  }

  TinyModel model_;
  model::MixedPrecision precision_{at::kBFloat16};
  bool mixed_ = true;
  std::unique_ptr<ModelConvertersContainer> container_;
};

}  // namespace titan::converters
