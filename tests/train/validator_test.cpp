/// Validation: which samples count and how much, and that training never notices.
#include "train/validator.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "model/loss.h"
#include "support/expect_error.h"
#include "support/scratch_folder.h"
#include "support/small_llama.h"

namespace titan::train {
namespace {

constexpr int64_t kSeq = 8, kSample = kSeq + 1;

class ValidatorTest : public testing::Test {
 protected:
  /// `count` tokens of 16 bits, of which token i is 5 i + i / 9 modulo the vocabulary.
  void write_tokens(int64_t count) {
    std::ofstream file(folder_ / "tokens.bin", std::ios::binary);
    for (int64_t i = 0; i < count; ++i) {
      const auto token = static_cast<uint16_t>(token_at(i));
      file.write(reinterpret_cast<const char*>(&token), sizeof token);
    }
  }
  static int64_t token_at(int64_t i) { return (5 * i + i / 9) % test::kSmallVocabulary; }

  Validator make(int64_t steps, int64_t batch = 2) {
    config_.validation.enable = true;
    config_.validation.dataset = "tokens";
    config_.validation.dataset_path = (folder_ / "tokens.bin").string();
    config_.validation.local_batch_size = batch;
    config_.validation.seq_len = kSeq;
    config_.validation.steps = steps;
    return Validator(config_, test::kSmallVocabulary, {});
  }

  /// The mean loss over these samples, each computed by itself.
  double expected(const std::vector<int64_t>& samples) {
    const at::NoGradGuard no_grad;
    double sum = 0;
    for (const int64_t sample : samples) {
      at::Tensor tokens = at::empty({1, kSample}, at::kLong);
      for (int64_t i = 0; i < kSample; ++i) tokens[0][i] = token_at(sample * kSample + i);
      const at::Tensor logits = (*root_)({.step = 1}, {tokens.narrow(1, 0, kSeq)});
      sum +=
          model::cross_entropy(logits, tokens.narrow(1, 1, kSeq).contiguous(), kSeq).item<double>();
    }
    return sum / static_cast<double>(samples.size());
  }
  double loss(Validator& validator) {
    return validator.run(*root_, {.step = 3, .training = true}, at::kCPU)->loss;
  }

  test::ScratchFolder scratch_;
  std::filesystem::path folder_ = scratch_.path();
  config::Config config_;
  std::unique_ptr<model::Transformer> root_ = test::small_llama(1);
};

TEST_F(ValidatorTest, AllDataOnceAndAShortLastBatchWeighsLess) {
  write_tokens(5 * kSample + 3);  // five samples in batches of 2, 2 and 1; the rest is no sample
  Validator validator = make(-1);
  EXPECT_NEAR(loss(validator), expected({0, 1, 2, 3, 4}), 1e-5);
  const double mean_of_means = (expected({0, 1}) + expected({2, 3}) + expected({4})) / 3;
  EXPECT_GT(std::abs(loss(validator) - mean_of_means), 1e-4);
  const ValidationResult result = *validator.run(*root_, {.step = 3}, at::kCPU);
  EXPECT_EQ(result.tokens, 5 * kSeq);
  EXPECT_EQ(result.step, 3);
  EXPECT_GT(result.seconds, 0);
}

TEST_F(ValidatorTest, DataThatEndsWithASample) {
  write_tokens(4 * kSample);
  Validator validator = make(-1, 4);
  EXPECT_NEAR(loss(validator), expected({0, 1, 2, 3}), 1e-5);
  EXPECT_NEAR(loss(validator), expected({0, 1, 2, 3}), 1e-5);
}

TEST_F(ValidatorTest, AGivenNumberOfBatchesAlwaysFromTheBeginning) {
  write_tokens(5 * kSample);
  Validator validator = make(2);
  EXPECT_NEAR(loss(validator), expected({0, 1, 2, 3}), 1e-5);
  EXPECT_EQ(loss(validator), loss(validator));
  Validator longer = make(3);  // more than there is: goes on at the beginning
  EXPECT_NEAR(loss(longer), expected({0, 1, 2, 3, 4, 0}), 1e-5);
}

TEST_F(ValidatorTest, IsDueAfterStepOneAndEveryFreq) {
  write_tokens(2 * kSample);
  config_.validation.freq = 4;
  const Validator validator = make(1);
  std::vector<int64_t> due;
  for (int64_t step = 1; step <= 12; ++step)
    if (validator.due(step)) due.push_back(step);
  EXPECT_EQ(due, (std::vector<int64_t>{1, 4, 8, 12}));
}

/// Draws random numbers, and keeps what it was told.
class DrawingWrap final : public model::Wrap {
 public:
  explicit DrawingWrap(std::vector<model::CallContext>& seen) : seen_(seen) {}
  void before(model::Module&, const model::CallContext& context, model::Inputs&) override {
    seen_.push_back(context);
    EXPECT_FALSE(at::GradMode::is_enabled());
    at::rand({3});
  }

 private:
  std::vector<model::CallContext>& seen_;
};

TEST_F(ValidatorTest, ConvertersAreToldAndRandomNumbersPutBack) {
  write_tokens(3 * kSample);
  std::vector<model::CallContext> seen;
  root_->find("layers.0.attention.wq")->add_wrap(std::make_unique<DrawingWrap>(seen));
  Validator validator = make(-1);
  at::manual_seed(3);
  const at::Tensor expected_next = at::rand({2});
  at::manual_seed(3);
  std::map<std::string, double> metrics;
  validator.run(*root_, {.step = 7, .training = true, .metrics = &metrics}, at::kCPU);
  EXPECT_TRUE(at::equal(at::rand({2}), expected_next));
  ASSERT_EQ(seen.size(), 2u);
  for (const model::CallContext& context : seen) {
    EXPECT_FALSE(context.training);
    EXPECT_FALSE(context.recompute);
    EXPECT_EQ(context.metrics, nullptr);
    EXPECT_EQ(context.step, 7);
  }
  for (const auto& named : model::named_parameters(*root_))
    EXPECT_FALSE(named.parameter->tensor.grad().defined()) << named.fqn;
}

TEST_F(ValidatorTest, MessagesNameTheKeysOfTheSection) {
  write_tokens(5);
  test::expect_error(ExitStatus::kData, {"validation: ", "validation.seq_len + 1 = 9", "5 tokens"},
                     [&] { make(-1); });
  std::filesystem::remove(folder_ / "tokens.bin");
  test::expect_error(ExitStatus::kData, {"validation: ", "validation.dataset_path", "tokens.bin"},
                     [&] { make(-1); });
}

}  // namespace
}  // namespace titan::train
