/// What a step is said to hold, against what the same step holds on the CPU, at the allocator.
#include "train/step_profile.h"

#include <gtest/gtest.h>

#include "support/small_llama.h"

namespace titan::train {
namespace {

TEST(StepProfileTest, Smoke) {
  model::ModelArgs args = test::small_llama_args(4);
  args.dim = 128;
  args.vocab_size = 512;
  config::Training training;
  training.local_batch_size = 4;
  training.seq_len = 128;
  training.mixed_precision_param = "float32";
  model::Transformer root(args, at::kFloat);
  const StepProfile profile = profile_step(root, training, 1, {1, 1, 1, 1});
  model::Transformer real(args, at::kFloat);
  model::materialize(real, at::kCPU, 5);
  model::CallContext context{.step = 2, .training = true};
  const at::Tensor tokens = at::zeros({4, 128}, at::kLong);
  for (int i = 0; i < 2; ++i) {
  model::AllocationMeter meter(at::kCPU);
  at::Tensor loss;
  {
    const at::Tensor logits = real(context, {tokens});
    loss = model::cross_entropy(logits, tokens, 512);
  }
  std::cout << "kept " << meter.live_total() << " estimated " << profile.kept[0] << "\n";
  loss.backward();
  std::cout << "peak " << meter.peak_total() << " estimated " << profile.at_peak[0] << " " << profile.at_peak[1] << "\n";
  }
}

}  // namespace
}  // namespace titan::train
