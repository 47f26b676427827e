/// The optimizer: its formula, its hooks, and what a step leaves alone.
#include "optim/adamw.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/layers/linear.h"
#include "support/expect_error.h"

namespace titan::optim {
namespace {

using test::expect_error;

/// A parameter of its own, with values.
OptimizedTensor leaf(const std::string& name, at::IntArrayRef shape, double phase,
                     at::ScalarType dtype = at::kFloat) {
  auto parameter = std::make_shared<model::Parameter>();
  const int64_t count = c10::multiply_integers(shape);
  parameter->tensor =
      (at::arange(count, at::kDouble) * 0.7 + phase).sin().view(shape).to(dtype).requires_grad_();
  return {name, parameter->tensor, parameter};
}

void set_gradient(const OptimizedTensor& one, double phase) {
  one.tensor.mutable_grad() = (one.tensor.detach() * 3 + phase).cos();
}

/// The textbook update in float64.
struct Reference {
  explicit Reference(const at::Tensor& tensor)
      : p(tensor.detach().to(at::kDouble).clone()), m(at::zeros_like(p)), v(at::zeros_like(p)) {}

  void step(const at::Tensor& gradient, const AdamOptions& o) {
    ++t;
    at::Tensor g = gradient.to(at::kDouble);
    if (o.kind == AdamKind::kAdamW) p = p * (1 - o.lr * o.weight_decay);
    if (o.kind == AdamKind::kAdam) g = g + p * o.weight_decay;
    m = m * o.beta1 + g * (1 - o.beta1);
    v = v * o.beta2 + g * g * (1 - o.beta2);
    const at::Tensor denominator = (v / (1 - std::pow(o.beta2, t))).sqrt() + o.eps;
    p = p - (m / (1 - std::pow(o.beta1, t)) / denominator) * o.lr;
  }

  at::Tensor p, m, v;
  int t = 0;
};

TEST(Optimizer, FollowsTheFormula) {
  for (const AdamKind kind : {AdamKind::kAdamW, AdamKind::kAdam}) {
    for (const auto dtype : {at::kFloat, at::kDouble}) {
      AdamOptions options{.kind = kind, .lr = 0.01, .eps = 1e-3};
      const OptimizedTensor matrix = leaf("w", {5, 7}, 0.0, dtype),
                            vector = leaf("n", {9}, 1.0, dtype);
      Reference expected_matrix(matrix.tensor), expected_vector(vector.tensor);
      Optimizer optimizer({matrix, vector}, options);
      for (int step = 1; step <= 5; ++step) {
        options.lr = 0.01 / step;
        optimizer.set_lr(options.lr);
        set_gradient(matrix, step);
        set_gradient(vector, 2 * step);
        expected_matrix.step(matrix.tensor.grad(), options);
        expected_vector.step(vector.tensor.grad(), options);
        optimizer.step(step);
      }
      const double tolerance = dtype == at::kDouble ? 1e-13 : 1e-6;
      EXPECT_TRUE(
          at::allclose(matrix.tensor.to(at::kDouble), expected_matrix.p, tolerance, tolerance));
      EXPECT_TRUE(
          at::allclose(vector.tensor.to(at::kDouble), expected_vector.p, tolerance, tolerance));
      EXPECT_TRUE(at::allclose(optimizer.states()[0].exp_avg.to(at::kDouble), expected_matrix.m,
                               tolerance, tolerance));
      EXPECT_TRUE(at::allclose(optimizer.states()[1].exp_avg_sq.to(at::kDouble), expected_vector.v,
                               tolerance, tolerance));
      EXPECT_EQ(optimizer.states()[0].step.item<float>(), 5.0f);
    }
  }
}

TEST(Optimizer, MixedTypesAreSteppedTogether) {
  const OptimizedTensor wide = leaf("a", {4}, 0.0), narrow = leaf("b", {4}, 0.0, at::kBFloat16);
  Optimizer optimizer({wide, narrow}, {.lr = 0.1});
  const at::Tensor before = wide.tensor.detach().clone();
  set_gradient(wide, 0);
  set_gradient(narrow, 0);
  optimizer.step(1);
  EXPECT_FALSE(at::equal(wide.tensor, before));
  EXPECT_TRUE(at::allclose(narrow.tensor.to(at::kFloat), wide.tensor, 0.0, 0.02));
  EXPECT_EQ(optimizer.states()[1].exp_avg.scalar_type(), at::kBFloat16);
}

TEST(Optimizer, HooksRunOnceAfterEachStepAndNeverOnASkippedOne) {
  const OptimizedTensor one = leaf("a", {4}, 0.0), two = leaf("b", {4}, 1.0);
  Optimizer optimizer({one, two}, {.lr = 0.1});
  std::vector<std::string> log;
  const at::Tensor before = one.tensor.detach().clone();
  optimizer.register_step_post_hook([&](int64_t step) {
    log.push_back("first " + std::to_string(step));
    EXPECT_FALSE(at::equal(one.tensor, before)) << "hooks see the new values";
  });
  optimizer.register_step_post_hook(
      [&](int64_t step) { log.push_back("second " + std::to_string(step)); });
  set_gradient(one, 0);
  set_gradient(two, 0);
  optimizer.step(7);
  EXPECT_EQ(log, (std::vector<std::string>{"first 7", "second 7"}));
  EXPECT_EQ(one.parameter->version, 1u);

  const at::Tensor kept = one.tensor.detach().clone();
  optimizer.step(8, /*skip=*/true);
  EXPECT_EQ(log.size(), 2u);
  EXPECT_TRUE(at::equal(one.tensor, kept));
  EXPECT_EQ(one.parameter->version, 1u);
  EXPECT_EQ(optimizer.states()[0].step.item<float>(), 1.0f);
  optimizer.step(8);
  EXPECT_EQ(log.back(), "second 8");
  EXPECT_EQ(one.parameter->version, 2u);
}

TEST(Optimizer, ATensorWithoutAGradientIsLeftAlone) {
  const OptimizedTensor used = leaf("a", {4}, 0.0), unused = leaf("b", {4}, 1.0);
  Optimizer optimizer({used, unused}, {.lr = 0.1});
  const at::Tensor before = unused.tensor.detach().clone();
  set_gradient(used, 0);
  EXPECT_EQ(optimizer.gradients().size(), 1u);
  optimizer.step(1);
  EXPECT_TRUE(at::equal(unused.tensor, before)) << "no decay without a gradient either";
  EXPECT_EQ(unused.parameter->version, 0u);
  EXPECT_EQ(optimizer.states()[1].step.item<float>(), 0.0f);
  optimizer.zero_grad();
  EXPECT_TRUE(optimizer.gradients().empty());
}

class TwoLinears : public model::Module {
 public:
  TwoLinears() : Module("pair") {
    for (const char* name : {"a", "b", "c"})
      add_child(name,
                std::make_unique<model::Linear>(2, 2, at::kFloat, model::InitRule::constant(1.0)));
    assign_names("");
  }

 protected:
  at::Tensor forward(const model::CallContext&, const model::Inputs& inputs) override {
    return inputs[0];
  }
};

TEST(Optimizer, TakesWhatIsTrainableOnce) {
  TwoLinears root;
  expect_error(ExitStatus::kInternal, {"a.weight", "before"}, [&] { trainable_tensors(root); });
  root.find("b")->parameter("weight").tensor.set_requires_grad(false);
  root.find("c")->parameters()[0].parameter = root.find("a")->parameters()[0].parameter;
  model::materialize(root, at::kCPU, 0);
  const auto tensors = trainable_tensors(root);
  ASSERT_EQ(tensors.size(), 1u);
  EXPECT_EQ(tensors[0].fqn, "a.weight");
  EXPECT_TRUE(tensors[0].tensor.is_same(root.find("c")->parameter("weight").tensor));
}

TEST(Optimizer, BadOptionsAreRefused) {
  const auto refused = [](const char* key, const AdamOptions& options) {
    expect_error(ExitStatus::kUsage, {key},
                 [&] { Optimizer optimizer({leaf("a", {1}, 0.0)}, options); });
  };
  refused("optimizer.lr", {.lr = -1.0});
  refused("optimizer.lr", {.lr = std::nan("")});
  refused("optimizer.beta1", {.beta1 = 1.0});
  refused("optimizer.beta2", {.beta2 = -0.1});
  refused("optimizer.eps", {.eps = -1e-8});
  refused("optimizer.weight_decay", {.weight_decay = INFINITY});
  expect_error(ExitStatus::kUsage, {"nothing to train"}, [] { Optimizer optimizer({}, {}); });
  expect_error(ExitStatus::kUsage, {"'AdamV'", "did you mean 'AdamW'"},
               [] { parse_adam_kind("AdamV"); });
  EXPECT_EQ(parse_adam_kind("Adam"), AdamKind::kAdam);
}

/// Clipping on the way: the same as multiplying first.
TEST(Optimizer, MultipliesGradientsInTheStep) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16})
    for (const AdamKind kind : {AdamKind::kAdamW, AdamKind::kAdam}) {
      AdamOptions options;
      options.kind = kind;
      const OptimizedTensor first = leaf("a", {5, 7}, 0.3, type),
                            second = leaf("b", {5, 7}, 0.3, type);
      Optimizer apart({first}, options), together({second}, options);
      for (int64_t step = 1; step <= 3; ++step) {
        set_gradient(first, 0.1);
        set_gradient(second, 0.1);
        first.tensor.mutable_grad().mul_(0.25);
        apart.step(step);
        together.step(step, false, 0.25);
        EXPECT_TRUE(at::equal(second.tensor.grad(), first.tensor.grad()));
        EXPECT_TRUE(at::equal(second.tensor, first.tensor));
      }
    }
}

}  // namespace
}  // namespace titan::optim
