/// Causal self-attention with rotary positions and grouped key / value heads.
#pragma once

#include "model/model_args.h"
#include "model/module.h"

namespace titan::model {

class Attention : public Module {
 public:
  /// `init_std`: of the output projection; the others are N(0, 0.02). With args.qk_norm the module
  /// has q_norm and k_norm, weights [head_dim], and is of kind qk_norm_attention: code that was
  /// written for plain attention must not take its place.
  Attention(const ModelArgs& args, int64_t layer, double init_std, at::ScalarType dtype);

 protected:
  at::Tensor forward(const CallContext& context, const Inputs& inputs) override;
  bool narrows_itself() const override { return true; }  // its linears do

 private:
  /// q, k, v [B, S, heads, D], q and k rotated; gives [B, S, H, D]. The tokens that the call's
  /// cache holds come first.
  at::Tensor attend_rotated(const CallContext& context, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v);

  int64_t n_heads_, n_kv_heads_, head_dim_, layer_;
  Slot &wq_, &wk_, &wv_, &wo_;
  Slot *q_norm_ = nullptr, *k_norm_ = nullptr;
};

}  // namespace titan::model
