/// The loss: masked labels, accumulation over micro-batches, dtypes.
#include "model/loss.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "model/mixed_precision.h"
#include "model/training_loss.h"
#include "support/expect_error.h"
#include "support/small_llama.h"

namespace titan::model {
namespace {

at::Tensor some_logits() {
  return (at::arange(2 * 3 * 5, at::kFloat) * 0.7).sin().view({2, 3, 5}) * 4;
}

TEST(Loss, IsTheMeanOverTheLabelsThatCount) {
  const at::Tensor logits = some_logits();
  const at::Tensor labels =
      at::tensor(std::vector<int64_t>{0, -100, 4, 1, -100, -100}).view({2, 3});
  EXPECT_EQ(count_valid_labels(labels), 3);
  const at::Tensor logs = logits.to(at::kDouble).log_softmax(-1);
  const double expected = -(logs[0][0][0] + logs[0][2][4] + logs[1][0][1]).item<double>() / 3;
  EXPECT_NEAR(cross_entropy(logits, labels, 3).item<double>(), expected, 1e-6);
}

TEST(Loss, MicroBatchesAddUpToTheBatch) {
  const at::Tensor logits = some_logits();
  const at::Tensor labels =
      at::tensor(std::vector<int64_t>{0, -100, 4, 1, -100, -100}).view({2, 3});
  const at::Tensor whole = cross_entropy(logits, labels, 3);
  const at::Tensor parts = cross_entropy(logits.narrow(0, 0, 1), labels.narrow(0, 0, 1), 3) +
                           cross_entropy(logits.narrow(0, 1, 1), labels.narrow(0, 1, 1), 3);
  EXPECT_NEAR(whole.item<double>(), parts.item<double>(), 1e-6);
  // A micro-batch without any label that counts gives 0, not NaN.
  EXPECT_EQ(cross_entropy(logits, at::full({2, 3}, -100, at::kLong), 3).item<double>(), 0.0);
}

TEST(Loss, NarrowLogitsAreSummedInFloat32) {
  const at::Tensor logits = some_logits().to(at::kBFloat16);
  const at::Tensor labels = at::zeros({2, 3}, at::kLong);
  const at::Tensor loss = cross_entropy(logits, labels, 6);
  EXPECT_EQ(loss.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::equal(loss, cross_entropy(logits.to(at::kFloat), labels, 6)));
  EXPECT_EQ(cross_entropy(logits.to(at::kDouble), labels, 6).scalar_type(), at::kDouble);
}

TEST(Loss, ABatchWithoutLabelsIsRefused) {
  test::expect_error(ExitStatus::kData, {"no label", "-100"}, [] {
    cross_entropy(some_logits(), at::full({2, 3}, -100, at::kLong), 0);
  });
}

class Looks final : public Observer {
 public:
  explicit Looks(at::Tensor& seen) : seen_(seen) {}
  void observe(Module&, const CallContext&, const Inputs&, const at::Tensor& output) override {
    seen_ = output;
  }

 private:
  at::Tensor& seen_;
};

/// The head and the loss as one, and with a tensor of logits in between, which an observer sees.
void is_the_same_with_logits_and_without(bool narrow) {
  const auto root = test::small_llama();
  const at::Tensor batch = test::small_batch(1), tokens = batch.narrow(1, 0, 24);
  at::Tensor labels = batch.narrow(1, 1, 24).contiguous();
  labels[1][5] = kIgnoreIndex;
  const auto pass = [&](const at::Tensor& loss) {
    loss.backward();
    std::vector<at::Tensor> numbers{loss.detach()};
    for (const auto& named : named_parameters(*root)) {
      numbers.push_back(named.parameter->tensor.grad());
      named.parameter->tensor.mutable_grad() = at::Tensor();
    }
    return numbers;
  };
  MixedPrecision bf16(at::kBFloat16);
  const CallContext context{
      .step = 1, .training = true, .mixed_precision = narrow ? &bf16 : nullptr};
  const auto as_one = pass(training_loss(*root, context, tokens, labels, 47));
  const auto apart = pass(cross_entropy((*root)(context, {tokens}), labels, 47));
  at::Tensor seen;
  root->add_observer(std::make_unique<Looks>(seen));
  const auto watched = pass(training_loss(*root, context, tokens, labels, 47));
  ASSERT_TRUE(seen.defined());
  EXPECT_EQ(seen.sizes(), (at::IntArrayRef{2, 24, test::kSmallVocabulary}));
  for (size_t i = 0; i < as_one.size(); ++i) {
    EXPECT_TRUE(at::equal(as_one[i], apart[i])) << i << " " << narrow;
    EXPECT_TRUE(at::equal(as_one[i], watched[i])) << i;
  }
}

/// Bit for bit, so that a converter that changes nothing changes nothing.
TEST(TrainingLoss, IsTheSameWithLogitsAndWithout) {
  is_the_same_with_logits_and_without(false);
  is_the_same_with_logits_and_without(true);
}

TEST(TrainingLoss, InMixedPrecisionTheGradientsKeepTheParametersType) {
  const auto root = test::small_llama();
  const at::Tensor batch = test::small_batch(2);
  MixedPrecision bf16(at::kBFloat16);
  const CallContext context{.step = 1, .training = true, .mixed_precision = &bf16};
  const at::Tensor labels = batch.narrow(1, 1, 24).contiguous();
  const at::Tensor loss = training_loss(*root, context, batch.narrow(1, 0, 24), labels, 48);
  EXPECT_NEAR(loss.item<double>(),
              training_loss(*root, {.step = 1}, batch.narrow(1, 0, 24), labels, 48).item<double>(),
              0.02 * loss.item<double>());
  loss.backward();
  for (const auto& named : named_parameters(*root))
    EXPECT_EQ(named.parameter->tensor.grad().scalar_type(), at::kFloat) << named.fqn;
}

}  // namespace
}  // namespace titan::model
