#include "model/transformer.h"

#include <cmath>
#include <string>

#include "base/error.h"
#include "model/kv_cache.h"
#include "model/layers/block.h"
#include "model/layers/embedding.h"
#include "model/layers/linear.h"
#include "model/layers/rms_norm.h"
#include "model/rope.h"

namespace titan::model {

Transformer::Transformer(const ModelArgs& args, at::ScalarType dtype)
    : Module("decoder"), args_(args) {
  args.validate();
  set_attribute("dim", static_cast<double>(args.dim));
  set_attribute("n_layers", static_cast<double>(args.n_layers));
  set_attribute("vocab_size", static_cast<double>(args.vocab_size));
  set_attribute("max_seq_len", static_cast<double>(args.max_seq_len));
  // A tied table begins as other matrices do (Qwen3's initializer_range): with rows of N(0, 1), or
  // those of a head of its own, every token would begin by predicting itself.
  const double spread = args.enable_weight_tying ? 0.02 : 1.0;
  tok_embeddings_ = &add_child(
      "tok_embeddings",
      std::make_unique<Embedding>(args.vocab_size, args.dim, dtype, InitRule::normal(0.0, spread)));
  for (int64_t i = 0; i < args.n_layers; ++i)
    layers_.push_back(
        &add_child("layers." + std::to_string(i), std::make_unique<Block>(args, i, dtype)));
  norm_ = &add_child("norm", std::make_unique<RmsNorm>(args.dim, args.norm_eps, dtype));
  const double std = 1.0 / std::sqrt(static_cast<double>(args.dim));
  output_ = &add_child(
      "output", std::make_unique<Linear>(args.dim, args.vocab_size, dtype,
                                         InitRule::trunc_normal(0.0, std, -3.0 * std, 3.0 * std)));
  if (args.enable_weight_tying)
    (*output_)->parameters().front().parameter = (*tok_embeddings_)->parameters().front().parameter;
  assign_names("");
}

at::Tensor Transformer::rope(int64_t seq_len, at::Device device) {
  if (!rope_.defined() || rope_.size(0) < seq_len || rope_.device() != device)
    rope_ = rope_table(seq_len, args_.head_dim(), args_.rope_theta, args_.rope_scaling).to(device);
  return rope_.narrow(0, 0, seq_len);
}

at::Tensor Transformer::hidden(const CallContext& context, const at::Tensor& tokens) {
  if (tokens.dim() != 2 || tokens.scalar_type() != at::kLong)
    throw internal_error("tokens must be int64 [batch, sequence]", "the decoder's input");
  KvCache* cache = context.kv_cache;
  if (cache) cache->begin(tokens.size(1));
  const int64_t longest = cache ? cache->capacity() : tokens.size(1);
  if (longest > args_.max_seq_len)
    throw usage_error("a sequence of " + std::to_string(longest) +
                          " tokens is longer than the model's " + std::to_string(args_.max_seq_len),
                      "model.max_seq_len", "raise it, or lower training.seq_len");
  at::Tensor h = (*(*tok_embeddings_))(context, {tokens});
  at::Tensor table = rope(longest, tokens.device());
  if (cache) table = cache->rotations(table);
  for (Slot* layer : layers_) h = (**layer)(context, {h, table});
  if (cache) {
    cache->end();
    h = h.narrow(1, h.size(1) - 1, 1);  // nobody asks for the others
  }
  return (**norm_)(context, {h});
}

at::Tensor Transformer::forward(const CallContext& context, const Inputs& inputs) {
  return (**output_)(context, {hidden(context, inputs[0])});
}

}  // namespace titan::model
