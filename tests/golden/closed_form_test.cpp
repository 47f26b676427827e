/// A model whose weights and data are formulas, against numbers of another trainer.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "golden/training_run.h"
#include "model/transformer.h"

namespace titan {
namespace {

/// Element i of parameter p: sin(0.37 i + p), scaled by what the parameter is.
std::unique_ptr<model::Transformer> formula_model() {
  auto root = std::make_unique<model::Transformer>(model::ModelArgs{.dim = 64,
                                                                    .n_layers = 2,
                                                                    .n_heads = 4,
                                                                    .n_kv_heads = 2,
                                                                    .vocab_size = 96,
                                                                    .multiple_of = 16,
                                                                    .max_seq_len = 16},
                                                   at::kFloat);
  model::materialize(*root, at::kCPU, 0);
  const at::NoGradGuard no_grad;
  double index = 0;
  for (const auto& [fqn, parameter, module] : model::named_parameters(*root)) {
    const at::Tensor& tensor = parameter->tensor;
    const at::Tensor wave =
        (at::arange(tensor.numel(), at::kDouble) * 0.37 + index).sin().view(tensor.sizes());
    index += 1;
    if (fqn == "tok_embeddings.weight")
      tensor.copy_(wave);
    else if (fqn == "output.weight")
      tensor.copy_(wave * 0.1);
    else if (fqn.find("norm") != std::string::npos)
      tensor.copy_(wave * 0.1 + 1.0);
    else
      tensor.copy_(wave * 0.05);
  }
  return root;
}

test::Batch formula_batch() {
  at::Tensor all = at::empty({2, 17}, at::kLong);
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t t = 0; t < 17; ++t) all[b][t] = (7 * b + 13 * t + 3) % 96;
  return {all.narrow(1, 0, 16), all.narrow(1, 1, 16)};
}

test::TrainingRun formula_run(model::Module& root) {
  return {root,
          {.lr = 8e-4, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1},
          {.total_steps = 10, .warmup_steps = 2},
          1.0};
}

TEST(ClosedForm, LogitsLossAndGradientNorms) {
  const auto root = formula_model();
  const test::Batch batch = formula_batch();
  const at::Tensor logits = (*root)({.training = true}, {batch.tokens});
  const auto near = [](const at::Tensor& got, std::vector<double> expected) {
    EXPECT_TRUE(at::allclose(got.to(at::kDouble), at::tensor(expected), 0.0, 2e-6)) << got;
  };
  near(logits[0][0].narrow(0, 0, 4), {2.916461, -2.297526, -3.457671, 1.483029});
  near(logits[1][15].narrow(0, 93, 3), {-1.898695, -4.244027, 0.898963});
  EXPECT_NEAR(logits.sum(at::kDouble).item<double>(), -19.96533, 1e-3);
  EXPECT_NEAR(logits.abs().max().item<double>(), 4.540362, 2e-6);

  const at::Tensor loss = model::cross_entropy(logits, batch.labels, 32);
  EXPECT_NEAR(loss.item<double>(), 5.9653406, 2e-6);
  loss.backward();
  const auto norm = [&](const char* module) {
    return root->find(module)->parameter("weight").tensor.grad().norm().item<double>();
  };
  EXPECT_NEAR(norm("tok_embeddings"), 0.1246669, 1e-6);
  EXPECT_NEAR(norm("layers.0.attention.wq"), 0.0117357, 1e-6);
  EXPECT_NEAR(norm("layers.0.attention.wk"), 0.0111858, 1e-6);
  EXPECT_NEAR(norm("layers.0.attention_norm"), 0.0228006, 1e-6);
  EXPECT_NEAR(norm("layers.1.feed_forward.w2"), 3.9459643, 2e-5);
  EXPECT_NEAR(norm("output"), 1.5031896, 1e-5);
}

void expect_ten_steps(int64_t micro_batches) {
  const auto root = formula_model();
  test::TrainingRun training = formula_run(*root);
  const std::vector<double> losses = {5.965341, 5.295413, 4.327403, 3.797758, 3.504757,
                                      3.340088, 3.270715, 3.246114, 3.229254, 3.212615};
  const std::vector<double> norms = {11.32485, 9.76937, 6.40002, 4.20393, 2.84669,
                                     1.81443,  1.74585, 2.2943,  2.51668, 2.46144};
  for (size_t step = 0; step < losses.size(); ++step) {
    const auto got = training.step(formula_batch(), micro_batches);
    // The numbers were written with 6 decimals, and 5 for the norms.
    EXPECT_NEAR(got.loss, losses[step], 2e-6 * losses[step] + 5e-7) << "step " << step + 1;
    EXPECT_NEAR(got.grad_norm, norms[step], 1e-5 * norms[step] + 5e-6) << "step " << step + 1;
  }
}

TEST(ClosedForm, TenSteps) { expect_ten_steps(1); }

TEST(ClosedForm, TenStepsOfTwoMicroBatches) { expect_ten_steps(2); }

TEST(ClosedForm, MaskedLabelsWeighTheSameHoweverTheBatchIsCut) {
  const test::Batch batch = formula_batch();
  at::Tensor labels = batch.labels.clone();
  labels[0].narrow(0, 2, 13).fill_(model::kIgnoreIndex);  // 3 labels left here, 16 in the other
  const auto whole_model = formula_model(), cut_model = formula_model();
  test::TrainingRun whole = formula_run(*whole_model), cut = formula_run(*cut_model);
  for (int step = 0; step < 3; ++step) {
    const auto a = whole.step({batch.tokens, labels}, 1), b = cut.step({batch.tokens, labels}, 2);
    EXPECT_NEAR(a.loss, b.loss, 2e-6 * a.loss) << step;
    EXPECT_NEAR(a.grad_norm, b.grad_norm, 1e-5 * a.grad_norm) << step;
  }
}

}  // namespace
}  // namespace titan
