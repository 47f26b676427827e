/// A step on meta tensors against the same on the CPU, to the byte where nothing else is in play.
#include "train/step_profile.h"

#include <gtest/gtest.h>

#include "model/recompute.h"
#include "model/training_loss.h"
#include "support/small_llama.h"

namespace titan::train {
namespace {

constexpr int64_t kBatch = 2, kLength = 128;

int64_t sum_of(const model::PurposeBytes& bytes) {
  int64_t sum = 0;
  for (const int64_t one : bytes) sum += one;
  return sum;
}

struct Held {
  int64_t kept = 0, peak = 0;
};

/// Of one pass on the CPU, counted while its storages are made.
Held real_pass(const model::ModelArgs& args, model::Recompute recompute) {
  model::Transformer root(args, at::kFloat);
  model::materialize(root, at::kCPU, 5);
  model::mark_blocks_for_recompute(root, recompute, 1);
  const model::CallContext context{.step = 2, .training = true};
  Held held;
  const auto ids = [] { return at::zeros({kBatch, kLength}, at::kLong); };
  for (int i = 0; i < 2;
       ++i) {  // the first makes the table of rotations, the second is counted without
    const model::AllocationMeter meter(at::kCPU);
    const at::Tensor loss = model::training_loss(root, context, ids(), ids(), kBatch * kLength);
    held.kept = meter.live_total();
    loss.backward();
    held.peak = meter.peak_total();
    for (const auto& named : model::named_parameters(root))
      named.parameter->tensor.mutable_grad() = at::Tensor();
  }
  return held;
}

TEST(StepProfileTest, HoldsWhatTheCpuHolds) {
  model::ModelArgs args = test::small_llama_args(4);
  args.dim = 64;
  args.vocab_size = 256;
  const int64_t rotations = kLength * args.head_dim() * 4;
  config::Training training;
  training.local_batch_size = kBatch;
  training.seq_len = kLength;
  training.mixed_precision_param = "float32";
  for (const model::Recompute recompute :
       {model::Recompute::kNothing, model::Recompute::kAll, model::Recompute::kAllButOps}) {
    model::Transformer root(args, at::kFloat);
    model::mark_blocks_for_recompute(root, recompute, 1);
    const StepProfile profile = profile_step(root, training, 1, {1, 1, 1, 1});
    const Held held = real_pass(args, recompute);
    // The CPU keeps states of its random generator for each block that is computed again (5 KB),
    // and its attention works in a buffer.
    const int64_t states = recompute == model::Recompute::kNothing ? 0 : 4 * 5056;
    EXPECT_EQ(sum_of(profile.kept) - rotations, held.kept - states) << static_cast<int>(recompute);
    EXPECT_NEAR(static_cast<double>(sum_of(profile.at_peak)), static_cast<double>(held.peak),
                0.05 * static_cast<double>(held.peak))
        << static_cast<int>(recompute);
  }
}

TEST(StepProfileTest, TellsGradientsAndCopiesApart) {
  const model::ModelArgs args = test::small_llama_args(2);
  config::Training training;
  training.local_batch_size = kBatch;
  training.seq_len = kLength;
  training.mixed_precision_param = "bfloat16";
  model::Transformer root(args, at::kFloat);
  int64_t all = 0, narrow = 0;
  for (const auto& named : model::named_parameters(root)) {
    all += named.parameter->tensor.numel();
    if (named.module->kind() == "linear") narrow += named.parameter->tensor.numel();
  }
  const StepProfile profile = profile_step(root, training, 2, {1, 1, 1, 1});
  const auto of = [](const model::PurposeBytes& bytes, model::Purpose purpose) {
    return bytes[static_cast<size_t>(purpose)];
  };
  EXPECT_EQ(of(profile.kept, model::Purpose::kComputeCopy), 2 * narrow);
  EXPECT_EQ(of(profile.kept, model::Purpose::kGradient), 0);
  EXPECT_EQ(of(profile.at_peak, model::Purpose::kComputeCopy), 2 * narrow);
  // The peak is in the second micro-batch, where all gradients of the first are there.
  EXPECT_EQ(of(profile.at_peak, model::Purpose::kGradient), 4 * all);
  EXPECT_EQ(of(profile.after, model::Purpose::kComputeCopy), 0);
  EXPECT_EQ(of(profile.after, model::Purpose::kGradient), 4 * all);
  for (const auto& named : model::named_parameters(root))
    EXPECT_FALSE(named.parameter->tensor.grad().defined());
}

TEST(StepProfileTest, SharesMoveThePeak) {
  const model::ModelArgs args = test::small_llama_args(4);
  config::Training training;
  training.local_batch_size = 1;
  training.seq_len = 16;  // gradients are the larger part
  training.mixed_precision_param = "float32";
  model::Transformer root(args, at::kFloat);
  const StepProfile whole = profile_step(root, training, 1, {1, 1, 1, 1});
  const StepProfile shared = profile_step(root, training, 1, {1, 0.001, 1, 1});
  const auto gradients = static_cast<size_t>(model::Purpose::kGradient),
             kept = static_cast<size_t>(model::Purpose::kActivation);
  EXPECT_LT(shared.at_peak[gradients], whole.at_peak[gradients]);
  EXPECT_GT(shared.at_peak[kept], whole.at_peak[kept]);
}

}  // namespace
}  // namespace titan::train
