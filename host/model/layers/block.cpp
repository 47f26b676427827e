#include "model/layers/block.h"

#include <ATen/TensorOperators.h>

#include <cmath>
#include <memory>
#include <utility>

#include "model/layers/attention.h"
#include "model/layers/feed_forward.h"
#include "model/layers/rms_norm.h"

namespace titan::model {
namespace {

/// Projections that write to the residual stream start smaller the deeper they sit.
double residual_std(const ModelArgs& args, int64_t layer) {
  const int64_t depth = args.depth_init ? layer + 1 : args.n_layers;
  return 0.02 / std::sqrt(2.0 * static_cast<double>(depth));
}

}  // namespace

Block::Block(const ModelArgs& args, int64_t layer, at::ScalarType dtype)
    : Module("block"),
      attention_(add_child(
          "attention", std::make_unique<Attention>(args, layer, residual_std(args, layer), dtype))),
      feed_forward_(add_child("feed_forward", std::make_unique<FeedForward>(
                                                  args, layer, residual_std(args, layer), dtype))),
      attention_norm_(
          add_child("attention_norm", std::make_unique<RmsNorm>(args.dim, args.norm_eps, dtype))),
      ffn_norm_(add_child("ffn_norm", std::make_unique<RmsNorm>(args.dim, args.norm_eps, dtype))) {
  set_attribute("dim", static_cast<double>(args.dim));
  set_attribute("layer", static_cast<double>(layer));
}

at::Tensor Block::forward(const CallContext& context, const Inputs& inputs) {
  const at::Tensor& x = inputs[0];
  Inputs attention_inputs = inputs;  // rope, and positions or document ids where given
  attention_inputs[0] = (*attention_norm_)(context, {x});
  const at::Tensor h = x + (*attention_)(context, std::move(attention_inputs));
  return h + (*feed_forward_)(context, {(*ffn_norm_)(context, {h})});
}

}  // namespace titan::model
