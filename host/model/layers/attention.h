/// Causal self-attention with rotary positions and grouped key / value heads.
#pragma once

#include "model/model_args.h"
#include "model/module.h"

namespace titan::model {

class Attention : public Module {
 public:
  /// `init_std`: of the output projection; the others are N(0, 0.02).
  Attention(const ModelArgs& args, int64_t layer, double init_std, at::ScalarType dtype);

 protected:
  at::Tensor forward(const CallContext& context, const Inputs& inputs) override;

 private:
  int64_t n_heads_, n_kv_heads_, head_dim_;
  Slot &wq_, &wk_, &wv_, &wo_;
};

}  // namespace titan::model
