/// One layer of the transformer: attention and feed-forward, each behind a norm and on a residual.
#pragma once

#include "model/model_args.h"
#include "model/module.h"

namespace titan::model {

class Block : public Module {
 public:
  Block(const ModelArgs& args, int64_t layer, at::ScalarType dtype);

 protected:
  at::Tensor forward(const CallContext& context, const Inputs& inputs) override;

 private:
  Slot &attention_, &feed_forward_, &attention_norm_, &ffn_norm_;
};

}  // namespace titan::model
