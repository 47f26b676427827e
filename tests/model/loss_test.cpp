/// The loss: masked labels, accumulation over micro-batches, dtypes.
#include "model/loss.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "support/expect_error.h"

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

}  // namespace
}  // namespace titan::model
