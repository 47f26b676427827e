/// Clipping: the norm's precision, the coefficient, what is left alone.
#include "optim/clip.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace titan::optim {
namespace {

TEST(Clip, ScalesAllByOneCoefficientAndReturnsTheNormBefore) {
  const std::vector<at::Tensor> gradients = {at::full({2, 2}, 3.0, at::kFloat),
                                             at::full({7}, 4.0, at::kDouble)};
  const double norm = std::sqrt(4 * 9.0 + 7 * 16.0);
  EXPECT_NEAR(clip_grad_norm(gradients, 1.0), norm, 1e-12);
  const double coefficient = 1.0 / (norm + 1e-6);
  EXPECT_TRUE(at::allclose(gradients[0], at::full({2, 2}, 3.0 * coefficient, at::kFloat), 1e-6, 0));
  EXPECT_TRUE(at::allclose(gradients[1], at::full({7}, 4.0 * coefficient, at::kDouble), 1e-14, 0));
}

TEST(Clip, SmallGradientsAreLeftAlone) {
  const at::Tensor gradient = at::full({4}, 0.1, at::kFloat);
  EXPECT_NEAR(clip_grad_norm({gradient}, 1.0), 0.2, 1e-8);
  EXPECT_TRUE(at::equal(gradient, at::full({4}, 0.1, at::kFloat)));
  EXPECT_EQ(clip_grad_norm({}, 1.0), 0.0);
  EXPECT_EQ(clip_grad_norm({at::zeros({3}), at::zeros({0})}, 1.0), 0.0);
}

TEST(Clip, NormOfManyElementsIsExact) {
  // Odd count, and a value that float32 cannot add up.
  const int64_t count = 3 * (1 << 20) + 5;
  const at::Tensor big = at::full({count}, 0.1f, at::kFloat);
  const double value = static_cast<double>(0.1f);
  EXPECT_NEAR(sum_of_squares({big}) / (value * value * static_cast<double>(count)), 1.0, 1e-12);
  const at::Tensor narrow = at::full({1000, 77}, 0.5, at::kBFloat16);
  EXPECT_EQ(sum_of_squares({narrow}), 0.25 * 77000);
  EXPECT_EQ(sum_of_squares({narrow.to(at::kHalf).t()}), 0.25 * 77000);
}

TEST(Clip, DoesNotDependOnThreads) {
  const at::Tensor values = at::arange(1 << 20, at::kFloat).mul_(0.37).sin_();
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  const double one = sum_of_squares({values});
  at::set_num_threads(3);
  const double three = sum_of_squares({values});
  at::set_num_threads(threads);
  EXPECT_EQ(one, three);
}

TEST(Clip, NonFiniteNormsAreReportedAndChangeNothing) {
  for (const double bad : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    const at::Tensor gradient = at::full({3}, 2.0, at::kFloat);
    gradient[1] = bad;
    EXPECT_FALSE(std::isfinite(clip_grad_norm({gradient}, 1.0)));
    EXPECT_EQ(gradient[0].item<float>(), 2.0f);
  }
}

TEST(Clip, ShardsAddUp) {
  const at::Tensor whole = at::arange(100, at::kFloat).sin();
  EXPECT_NEAR(sum_of_squares({whole}),
              sum_of_squares({whole.narrow(0, 0, 33)}) + sum_of_squares({whole.narrow(0, 33, 67)}),
              1e-12);
}

}  // namespace
}  // namespace titan::optim
