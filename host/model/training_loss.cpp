#include "model/training_loss.h"

#include <ATen/record_function.h>

#include "model/layers/linear.h"
#include "model/loss.h"
#include "model/mixed_precision.h"
#include "model/ops/linear_cross_entropy.h"
#include "model/transformer.h"

namespace titan::model {
namespace {

bool untouched(const Module& module) { return !module.replaced() && !module.wrapped(); }

bool same_and_known(const at::Tensor& x, const at::Tensor& w) {
  return x.scalar_type() == w.scalar_type() &&
         (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
}

}  // namespace

at::Tensor training_loss(Module& decoder, const CallContext& context, const at::Tensor& tokens,
                         const at::Tensor& labels, int64_t valid_labels) {
  auto* const transformer = dynamic_cast<Transformer*>(&decoder);
  auto* const head = transformer ? dynamic_cast<Linear*>(&transformer->head()) : nullptr;
  if (valid_labels <= 0 || !head || !untouched(decoder) || !untouched(*head))
    return cross_entropy(decoder(context, {tokens}), labels, valid_labels);

  at::Tensor hidden;
  {
    RECORD_USER_SCOPE("model (decoder)");
    hidden = transformer->hidden(context, tokens);
  }
  // Who looks on must change no number: the loss stays the one below, and the logits are made for
  // the observers alone.
  if (decoder.observed() || head->observed()) {
    const at::NoGradGuard no_grad;
    decoder.show(context, {tokens}, (*head)(context, {hidden}));
  }
  RECORD_USER_SCOPE("output (linear) and loss");
  MixedPrecision* const precision = context.mixed_precision;
  const Parameter& weight = head->parameter("weight");
  const at::Tensor wide_x = hidden.reshape({-1, hidden.size(-1)});
  const at::Tensor x = precision ? precision->narrow(wide_x) : wide_x;
  const at::Tensor w = precision ? precision->narrow(weight) : weight.tensor;
  if (!same_and_known(x, w)) return cross_entropy((*head)(context, {hidden}), labels, valid_labels);
  return linear_cross_entropy(wide_x, weight.tensor, x, w, labels.reshape({-1}), valid_labels);
}

}  // namespace titan::model
