#include "train/step_profile.h"

#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <memory>

#include "model/meta_kernels.h"
#include "model/training_loss.h"
#include "train/precision.h"

namespace titan::train {
namespace {

/// Tells the meter which storages have become gradients: autograd takes them over as they are.
class GradientMark final : public torch::autograd::PostAccumulateGradHook {
 public:
  void operator()(const at::Tensor& parameter) override {
    model::AllocationMeter::set_purpose(parameter.grad(), model::Purpose::kGradient);
  }
};

void mark_gradients(model::Module& root) {
  for (const auto& named : model::named_parameters(root))
    if (named.parameter->tensor.requires_grad())
      torch::autograd::impl::set_post_acc_grad_hooks(named.parameter->tensor,
                                                     std::make_unique<GradientMark>());
}

void drop_gradients(model::Module& root) {
  for (const auto& named : model::named_parameters(root))
    named.parameter->tensor.mutable_grad() = at::Tensor();
}

at::Tensor meta_loss(model::Module& root, const model::CallContext& context,
                     const config::Training& training) {
  const auto ids = [&] {
    return at::empty({training.local_batch_size, training.seq_len},
                     at::TensorOptions().dtype(at::kLong).device(at::kMeta));
  };
  return model::training_loss(root, context, ids(), ids(),
                              training.local_batch_size * training.seq_len);
}

}  // namespace

StepProfile profile_step(model::Module& root, const config::Training& training,
                         int64_t micro_batches,
                         const std::array<double, model::kPurposes>& shares) {
  model::register_meta_kernels();
  mark_gradients(root);
  StepProfile profile;
  const model::AllocationMeter meter(at::kMeta, shares);
  const auto mixed_precision = make_mixed_precision(training);
  model::CallContext context;
  context.step = 2;  // in the first step results of recomputation are compared, which needs numbers
  context.training = true;
  context.mixed_precision = mixed_precision.get();
  for (int64_t i = 0; i < std::min<int64_t>(micro_batches, 2); ++i) {
    context.micro_batch = i;
    const at::Tensor loss = meta_loss(root, context, training);
    if (i == 0) profile.kept = meter.live();
    loss.backward();
  }
  profile.at_peak = meter.at_peak();
  if (mixed_precision) mixed_precision->drop();
  profile.after = meter.live();
  drop_gradients(root);
  return profile;
}

}  // namespace titan::train
