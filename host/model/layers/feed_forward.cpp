#include "model/layers/feed_forward.h"

#include <memory>

#include "model/layers/linear.h"
#include "model/ops/swiglu.h"

namespace titan::model {

FeedForward::FeedForward(const ModelArgs& args, int64_t layer, double init_std,
                         at::ScalarType dtype)
    : Module("feed_forward"),
      w1_(add_child("w1", std::make_unique<Linear>(args.dim, args.ffn_hidden_dim(), dtype,
                                                   InitRule::normal(0.0, 0.02)))),
      w2_(add_child("w2", std::make_unique<Linear>(args.ffn_hidden_dim(), args.dim, dtype,
                                                   InitRule::normal(0.0, init_std)))),
      w3_(add_child("w3", std::make_unique<Linear>(args.dim, args.ffn_hidden_dim(), dtype,
                                                   InitRule::normal(0.0, init_std)))) {
  set_attribute("dim", static_cast<double>(args.dim));
  set_attribute("hidden_dim", static_cast<double>(args.ffn_hidden_dim()));
  set_attribute("layer", static_cast<double>(layer));
}

at::Tensor FeedForward::forward(const CallContext& context, const Inputs& inputs) {
  const at::Tensor gate = (*w1_)(context, inputs);
  return (*w2_)(context, {swiglu(gate, (*w3_)(context, inputs))});
}

}  // namespace titan::model
