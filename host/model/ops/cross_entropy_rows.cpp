#include "model/ops/cross_entropy_rows.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "model/kernels/cross_entropy.h"
#include "model/loss.h"
#include "model/ops/on_cpu.h"

namespace titan::model {
namespace {

constexpr int64_t kRowsOfLogitsPerTask = 4;

void check_labels(const at::Tensor& labels, int64_t vocabulary) {
  const auto* values = elements<int64_t>(labels);
  for (int64_t i = 0; i < labels.numel(); ++i)
    if (values[i] != kIgnoreIndex && (values[i] < 0 || values[i] >= vocabulary))
      throw data_error("label " + std::to_string(values[i]) + " of the batch is not below the " +
                           std::to_string(vocabulary) + " tokens of the vocabulary",
                       "training batch", "use the tokenizer that the model was made for");
}

/// The sum of of_row(row, label) over all rows; ignored(row) for those that do not count.
template <class OfRow, class Ignored>
double sum_over_rows(const at::Tensor& logits, const at::Tensor& labels, const OfRow& of_row,
                     const Ignored& ignored) {
  if (logits.is_meta()) return 0;
  const int64_t rows = logits.size(0);
  const at::Tensor dense = labels.contiguous();
  check_labels(dense, logits.size(1));
  const auto* wanted = elements<int64_t>(dense);
  std::vector<double> losses(static_cast<size_t>(rows));
  at::parallel_for(0, rows, kRowsOfLogitsPerTask, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (wanted[i] == kIgnoreIndex)
        ignored(i);
      else
        losses[static_cast<size_t>(i)] = of_row(i, wanted[i]);
    }
  });
  double sum = 0;
  for (const double loss : losses) sum += loss;
  return sum;
}

template <class T>
double with_gradients(at::Tensor& logits, const at::Tensor& labels, float scale,
                      at::Tensor& gradients, Rounding rounding) {
  const int64_t vocabulary = logits.size(1);
  const bool rounded = rounding == Rounding::kBFloat16;
  auto* const from = mutable_elements<float>(logits);
  auto* const to = mutable_elements<T>(gradients);
  return sum_over_rows(
      logits, labels,
      [&](int64_t row, int64_t label) {
        float* const values = from + row * vocabulary;
        T* const result = to + row * vocabulary;
        if (rounded) kernels::round_to_bfloat16(vocabulary, values);
        const double loss =
            kernels::cross_entropy_gradient(vocabulary, values, label, scale, result);
        if constexpr (std::is_same_v<T, float>)
          if (rounded) kernels::round_to_bfloat16(vocabulary, result);
        return loss;
      },
      [&](int64_t row) { std::fill_n(to + row * vocabulary, vocabulary, T{}); });
}

}  // namespace

double cross_entropy_rows(const at::Tensor& logits, const at::Tensor& labels, Rounding rounding) {
  const int64_t vocabulary = logits.size(1);
  return sum_over_rows(
      logits, labels,
      [&](int64_t row, int64_t label) {
        const float* const values = elements<float>(logits) + row * vocabulary;
        if (rounding == Rounding::kNone)
          return kernels::cross_entropy_loss(vocabulary, values, label);
        std::vector<float> rounded(values, values + vocabulary);
        kernels::round_to_bfloat16(vocabulary, rounded.data());
        return kernels::cross_entropy_loss(vocabulary, rounded.data(), label);
      },
      [](int64_t) {});
}

double cross_entropy_rows(at::Tensor& logits, const at::Tensor& labels, float scale,
                          at::Tensor& gradients, Rounding rounding) {
  if (logits.is_meta()) return 0;
  return gradients.scalar_type() == at::kBFloat16
             ? with_gradients<kernels::Bf16>(logits, labels, scale, gradients, rounding)
             : with_gradients<float>(logits, labels, scale, gradients, rounding);
}

}  // namespace titan::model
