/// The decoder of Llama 3, and of families that differ from it by arguments: token ids to logits.
#pragma once

#include <memory>
#include <vector>

#include "model/model_args.h"
#include "model/module.h"

namespace titan::model {

/// Module names: tok_embeddings, layers.N.{attention.{wq,wk,wv,wo}, feed_forward.{w1,w2,w3},
/// attention_norm, ffn_norm}, norm, output; with qk_norm also layers.N.attention.{q_norm,k_norm}. A
/// tied output.weight is the parameter tok_embeddings.weight, under which name it is stored. All
/// are on the meta device until materialize().
class Transformer : public Module {
 public:
  /// Checks `args` and gives every module its name.
  Transformer(const ModelArgs& args, at::ScalarType dtype);

  const ModelArgs& args() const { return args_; }

  /// All but the head: tokens int64 [B, S], S at most max_seq_len, to [B, S, dim], or to the last
  /// token's [B, 1, dim] if the context has a KvCache.
  at::Tensor hidden(const CallContext& context, const at::Tensor& tokens);
  Module& head() const { return **output_; }

 protected:
  /// tokens: int64 [B, S], S at most max_seq_len; returns logits [B, S, vocab_size], or what
  /// KvCache says if the context has one.
  at::Tensor forward(const CallContext& context, const Inputs& inputs) override;

 private:
  at::Tensor rope(int64_t seq_len, at::Device device);

  ModelArgs args_;
  Slot* tok_embeddings_;
  std::vector<Slot*> layers_;
  Slot* norm_;
  Slot* output_;
  at::Tensor rope_;  ///< the longest table asked for so far; derived, so never in a checkpoint
};

}  // namespace titan::model
