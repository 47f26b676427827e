/// The gated feed-forward network: w2(silu(w1 x) * w3 x).
#pragma once

#include "model/model_args.h"
#include "model/module.h"

namespace titan::model {

class FeedForward : public Module {
 public:
  /// `init_std`: of w2 and w3; w1 is N(0, 0.02).
  FeedForward(const ModelArgs& args, int64_t layer, double init_std, at::ScalarType dtype);

 protected:
  at::Tensor forward(const CallContext& context, const Inputs& inputs) override;
  bool narrows_itself() const override { return true; }  // its linears do

 private:
  Slot &w1_, &w2_, &w3_;
};

}  // namespace titan::model
