/// Reading with a cache gives the logits of reading everything again.
#include "model/kv_cache.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "model/flavors.h"
#include "model/transformer.h"
#include "support/expect_error.h"

namespace titan::model {
namespace {

using test::expect_error;

constexpr double kRounding = 2e-5;

std::unique_ptr<Transformer> small_model(bool qk_norm, int64_t max_seq_len = 64) {
  ModelArgs args = qk_norm ? qwen3_flavors().front().args : llama3_flavors().front().args;
  args.n_layers = 2;
  args.n_heads = 8;
  args.n_kv_heads = 2;
  args.max_seq_len = max_seq_len;
  auto made = std::make_unique<Transformer>(args, at::kFloat);
  materialize(*made, at::kCPU, 7);
  return made;
}

at::Tensor tokens(int64_t rows, int64_t count) {
  return at::arange(rows * count, at::kLong).mul(37).remainder(2000).view({rows, count});
}

/// Logits of the last token when all are read at once.
at::Tensor whole(Transformer& model, const at::Tensor& ids) {
  return model(CallContext{}, {ids}).narrow(1, ids.size(1) - 1, 1);
}

double largest_difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

class Cached : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Families, Cached, testing::Bool(),
                         [](const auto& info) { return info.param ? "Qwen3" : "Llama3"; });

TEST_P(Cached, PromptAtOnceThenTokenByToken) {
  const at::NoGradGuard no_grad;
  const auto model = small_model(GetParam());
  ASSERT_TRUE(KvCache::fits(*model));
  const at::Tensor ids = tokens(3, 20);
  KvCache cache(3, 20);
  CallContext context;
  context.kv_cache = &cache;
  at::Tensor logits = (*model)(context, {ids.narrow(1, 0, 9)});
  EXPECT_LT(largest_difference(logits, whole(*model, ids.narrow(1, 0, 9))), kRounding);
  for (int64_t at = 9; at < 20; ++at) {
    logits = (*model)(context, {ids.narrow(1, at, 1)});
    ASSERT_EQ(logits.sizes(), (std::vector<int64_t>{3, 1, model->args().vocab_size}));
    EXPECT_LT(largest_difference(logits, whole(*model, ids.narrow(1, 0, at + 1))), kRounding) << at;
  }
}

TEST_P(Cached, PromptInPieces) {
  const at::NoGradGuard no_grad;
  const auto model = small_model(GetParam());
  const at::Tensor ids = tokens(2, 17);
  KvCache cache(2, 32);
  CallContext context;
  context.kv_cache = &cache;
  (*model)(context, {ids.narrow(1, 0, 5)});
  (*model)(context, {ids.narrow(1, 5, 7)});
  const at::Tensor logits = (*model)(context, {ids.narrow(1, 12, 5)});
  EXPECT_LT(largest_difference(logits, whole(*model, ids)), kRounding);
}

/// Memory that nobody wrote is NaN while one exists.
class NanMemory {
 public:
  NanMemory() { at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true); }
  ~NanMemory() { at::globalContext().setDeterministicAlgorithms(false, false); }
};

TEST_P(Cached, RowsOfDifferentLengthsAsEachAlone) {
  const at::NoGradGuard no_grad;
  const NanMemory nan_memory;
  ASSERT_TRUE(at::empty({4}).isnan().all().item<bool>());
  const auto model = small_model(GetParam());
  const std::vector<int64_t> lengths = {3, 11, 6};
  const at::Tensor ids = tokens(3, 16);
  KvCache cache(3, 16);
  CallContext context;
  context.kv_cache = &cache;
  for (int64_t row = 0; row < 3; ++row) {
    cache.choose(row, 1);
    (*model)(context, {ids.narrow(0, row, 1).narrow(1, 0, lengths[row])});
  }
  cache.choose(0, 3);
  for (int64_t i = 0; i < 3; ++i) {
    std::vector<at::Tensor> next;
    for (int64_t row = 0; row < 3; ++row)
      next.push_back(ids.narrow(0, row, 1).narrow(1, lengths[row] + i, 1));
    const at::Tensor logits = (*model)(context, {at::cat(next)});
    for (int64_t row = 0; row < 3; ++row)
      EXPECT_LT(largest_difference(logits[row], whole(*model, ids.narrow(0, row, 1).narrow(
                                                                  1, 0, lengths[row] + i + 1))[0]),
                kRounding)
          << row << " " << i;
  }
  cache.keep_rows({2, 1});
  EXPECT_EQ(cache.length(0), 9);
  EXPECT_EQ(cache.length(1), 14);
  const at::Tensor next =
      at::cat({ids.narrow(0, 2, 1).narrow(1, 9, 1), ids.narrow(0, 1, 1).narrow(1, 14, 1)});
  const at::Tensor logits = (*model)(context, {next});
  EXPECT_LT(largest_difference(logits[0], whole(*model, ids.narrow(0, 2, 1).narrow(1, 0, 10))[0]),
            kRounding);
  EXPECT_LT(largest_difference(logits[1], whole(*model, ids.narrow(0, 1, 1).narrow(1, 0, 15))[0]),
            kRounding);
}

TEST(KvCacheTest, WhatDoesNotFitIsRefused) {
  const at::NoGradGuard no_grad;
  const auto model = small_model(false, 16);
  CallContext context;
  KvCache small(1, 4);
  context.kv_cache = &small;
  EXPECT_THROW((*model)(context, {tokens(1, 5)}), Error);
  KvCache beyond(1, 17);
  context.kv_cache = &beyond;
  expect_error(ExitStatus::kUsage, {"17", "16"}, [&] { (*model)(context, {tokens(1, 2)}); });
}

class Around final : public Wrap {};

TEST(KvCacheTest, FitsOnlyWhereNoConverterMayMixTokens) {
  const auto model = small_model(false);
  model->find("layers.0.feed_forward")->add_wrap(std::make_unique<Around>());
  model->find("layers.1.attention.wq")->add_wrap(std::make_unique<Around>());
  EXPECT_TRUE(KvCache::fits(*model));
  for (const char* name : {"layers.1.attention", "layers.0", ""}) {
    const auto changed = small_model(false);
    changed->find(name)->add_wrap(std::make_unique<Around>());
    EXPECT_FALSE(KvCache::fits(*changed)) << name;
  }
}

}  // namespace
}  // namespace titan::model
