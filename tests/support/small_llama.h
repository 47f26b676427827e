/// A Llama of two or more blocks with fixed weights, and one training pass through it.
#pragma once

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <map>
#include <memory>
#include <string>

#include "model/loss.h"
#include "model/transformer.h"

namespace titan::test {

constexpr int64_t kSmallVocabulary = 64, kSmallDim = 32;

inline model::ModelArgs small_llama_args(int64_t layers) {
  model::ModelArgs args;
  args.dim = kSmallDim;
  args.n_layers = layers;
  args.n_heads = 4;
  args.n_kv_heads = 2;
  args.vocab_size = kSmallVocabulary;
  args.multiple_of = 16;
  args.max_seq_len = 128;
  return args;
}

inline std::unique_ptr<model::Transformer> small_llama(int64_t layers = 2,
                                                       at::ScalarType dtype = at::kFloat) {
  auto root = std::make_unique<model::Transformer>(small_llama_args(layers), dtype);
  model::materialize(*root, at::kCPU, 5);
  // Larger weights than the initial ones, so that every path of the gradients counts.
  const at::NoGradGuard no_grad;
  for (const auto& named : model::named_parameters(*root))
    if (named.parameter->tensor.dim() == 2) named.parameter->tensor.mul_(4);
  return root;
}

/// Number `index` of a fixed series of batches: int64 [2, length + 1].
inline at::Tensor small_batch(int64_t index, int64_t length = 24) {
  return (at::arange(2 * (length + 1), at::kLong) * 7 +
          at::arange(2 * (length + 1), at::kLong).pow(2) + 13 * index)
      .remainder(kSmallVocabulary)
      .view({2, length + 1});
}

struct Pass {
  at::Tensor logits;
  double loss = 0;
  std::map<std::string, at::Tensor> gradients;
};

/// `micro_batches` forwards and backwards whose gradients add up; logits and loss are the last's.
inline Pass train_pass(model::Module& root, model::CallContext context = {},
                       int64_t micro_batches = 1, int64_t length = 24) {
  context.training = true;
  context.step = context.step == 0 ? 1 : context.step;
  Pass pass;
  for (int64_t i = 0; i < micro_batches; ++i) {
    context.micro_batch = i;
    const at::Tensor batch = small_batch(i, length);
    const at::Tensor logits = root(context, {batch.narrow(1, 0, length)});
    const at::Tensor labels = batch.narrow(1, 1, length).contiguous();
    const at::Tensor loss = model::cross_entropy(logits, labels, 2 * length);
    loss.backward();
    pass.logits = logits.detach();
    pass.loss = loss.item<double>();
  }
  for (const auto& named : model::named_parameters(root)) {
    pass.gradients[named.fqn] = named.parameter->tensor.grad();
    named.parameter->tensor.mutable_grad() = at::Tensor();
  }
  return pass;
}

/// Whether both are undefined, or equal in type and every bit that counts.
inline bool same_tensor(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.scalar_type() == b.scalar_type() && at::equal(a, b);
}

}  // namespace titan::test
