/// What a forward keeps for the backward, counted at the allocator, against a formula.
#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "model/recompute.h"
#include "support/live_bytes.h"
#include "support/small_llama.h"

namespace titan::model {
namespace {

constexpr int64_t kBatch = 2, kLength = 48, kLayers = 4;

/// Bytes alive after a forward of the model, with its graph, beyond those before it.
int64_t kept_bytes(Module& root) {
  const at::Tensor tokens = test::small_batch(0, kLength).narrow(1, 0, kLength).contiguous();
  const CallContext context{.step = 2, .training = true};
  root(context, {tokens});  // makes the table of rotations, which stays
  const int64_t before = test::live_bytes();
  const at::Tensor logits = root(context, {tokens});
  return test::live_bytes() - before;
}

struct BlockBytes {
  explicit BlockBytes(const ModelArgs& args) {
    const int64_t rows = kBatch * kLength, dim = args.dim, hidden = args.ffn_hidden_dim();
    const int64_t keys = args.kv_heads() * args.head_dim();
    // One number a row of each norm, and one a row and head of attention (its log-sum-exp).
    const int64_t statistics = 2 + args.n_heads;
    // Both normalised inputs, the residual stream between the halves, q and what attention gives;
    // k, v; w1(x), w3(x), and what the gate makes of them.
    all = 4 * rows * (5 * dim + 2 * keys + 3 * hidden + statistics);
    // The 1st, 3rd, 5th and 7th product: wq, wv, w1 and w2; attention with its log-sum-exp.
    by_op = 4 * rows * (dim + keys + hidden + dim + dim + args.n_heads);
  }
  int64_t all, by_op;
};

/// Each block that is computed again keeps the state of the random generator.
int64_t generator_bytes() {
  const auto generator = at::globalContext().defaultGenerator(at::kCPU);
  return static_cast<int64_t>(generator.get_state().nbytes());
}

TEST(ActivationMemoryTest, FallsAsTheFormulaSays) {
  test::live_bytes();
  const auto root = test::small_llama(kLayers);
  const BlockBytes block(root->args());
  const int64_t none = kept_bytes(*root), state = generator_bytes();

  mark_blocks_for_recompute(*root, Recompute::kAll, 1);
  EXPECT_EQ(none - kept_bytes(*root), kLayers * (block.all - state));
  mark_blocks_for_recompute(*root, Recompute::kAll, 2);
  EXPECT_EQ(none - kept_bytes(*root), kLayers / 2 * (block.all - state));
  mark_blocks_for_recompute(*root, Recompute::kAllButOps, 1);
  EXPECT_EQ(none - kept_bytes(*root), kLayers * (block.all - block.by_op - state));

  // And as a whole: what is left in mode full is one input a block, and what is not in blocks.
  mark_blocks_for_recompute(*root, Recompute::kAll, 1);
  EXPECT_LT(kept_bytes(*root), none / 4);
  EXPECT_GT(block.by_op, block.all / 4);
}

TEST(ActivationMemoryTest, NothingIsLeftAfterBackward) {
  test::live_bytes();
  const auto root = test::small_llama(2);
  for (const Recompute recompute : {Recompute::kNothing, Recompute::kAll, Recompute::kAllButOps}) {
    mark_blocks_for_recompute(*root, recompute, 1);
    test::train_pass(*root);  // makes what stays
    const int64_t before = test::live_bytes();
    test::train_pass(*root);
    EXPECT_EQ(test::live_bytes(), before);
  }
}

}  // namespace
}  // namespace titan::model
