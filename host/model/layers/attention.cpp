#include "model/layers/attention.h"

#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <memory>
#include <optional>
#include <tuple>

#include "base/error.h"
#include "model/kv_cache.h"
#include "model/layers/linear.h"
#include "model/layers/rms_norm.h"
#include "model/ops/rope_attention.h"
#include "model/rope.h"

namespace titan::model {
namespace {

std::unique_ptr<Module> projection(int64_t in, int64_t out, at::ScalarType dtype, double std) {
  return std::make_unique<Linear>(in, out, dtype, InitRule::normal(0.0, std));
}

/// q: [B, H, S, D]; k, v: [B, H or a divisor of it, K, D]; gives [B, H, S, D]. Causal, with K = S,
/// unless the last token alone asks (S = 1) or `mask`, bool, tells which of K each of S sees.
at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                  const std::optional<at::Tensor>& mask) {
  // On meta tensors torch would choose the kernel that keeps a matrix of S x S for each head, which
  // no device that trains takes. All fused kernels keep what this one does.
  if (q.is_meta())
    return std::get<0>(at::_scaled_dot_product_flash_attention_for_cpu(q, k, v, /*dropout_p=*/0.0,
                                                                       /*is_causal=*/true));
  return at::scaled_dot_product_attention(
      q, k, v, mask, /*dropout_p=*/0.0, /*is_causal=*/!mask && q.size(2) == k.size(2),
      /*scale=*/std::nullopt, /*enable_gqa=*/q.size(1) != k.size(1));
}

}  // namespace

Attention::Attention(const ModelArgs& args, int64_t layer, double init_std, at::ScalarType dtype)
    : Module(args.qk_norm ? "qk_norm_attention" : "attention"),
      n_heads_(args.n_heads),
      n_kv_heads_(args.kv_heads()),
      head_dim_(args.head_dim()),
      layer_(layer),
      wq_(add_child("wq", projection(args.dim, n_heads_ * head_dim_, dtype, 0.02))),
      wk_(add_child("wk", projection(args.dim, n_kv_heads_ * head_dim_, dtype, 0.02))),
      wv_(add_child("wv", projection(args.dim, n_kv_heads_ * head_dim_, dtype, 0.02))),
      wo_(add_child("wo", projection(n_heads_ * head_dim_, args.dim, dtype, init_std))) {
  if (args.qk_norm) {
    const auto norm = [&] { return std::make_unique<RmsNorm>(head_dim_, args.norm_eps, dtype); };
    q_norm_ = &add_child("q_norm", norm());
    k_norm_ = &add_child("k_norm", norm());
  }
  set_attribute("dim", static_cast<double>(args.dim));
  set_attribute("n_heads", static_cast<double>(n_heads_));
  set_attribute("n_kv_heads", static_cast<double>(n_kv_heads_));
  set_attribute("head_dim", static_cast<double>(head_dim_));
  set_attribute("layer", static_cast<double>(layer));
}

at::Tensor Attention::forward(const CallContext& context, const Inputs& inputs) {
  for (size_t i = 2; i < inputs.size(); ++i)
    if (inputs[i].defined())
      throw usage_error("the stock attention takes no positions and no document ids",
                        "module '" + fqn() + "'",
                        "train on packed samples without them, or use a converter that replaces "
                        "the attention and declares these inputs");
  const at::Tensor& x = inputs[0];
  const at::Tensor& rope = inputs[1];
  const int64_t batch = x.size(0), length = x.size(1);
  const auto heads = [&](Slot& slot, int64_t count, Slot* norm) {
    const at::Tensor split = (*slot)(context, {x}).view({batch, length, count, head_dim_});
    return norm ? (**norm)(context, {split}) : split;
  };
  const at::Tensor q = heads(wq_, n_heads_, q_norm_), k = heads(wk_, n_kv_heads_, k_norm_),
                   v = heads(wv_, n_kv_heads_, nullptr);
  const at::Tensor mixed =
      !context.kv_cache && rope_attention_takes(q, k, v)
          ? rope_attention(q, k, v, rope)
          : attend_rotated(context, apply_rope(q, rope), apply_rope(k, rope), v);
  return (*wo_)(context, {mixed.reshape({batch, length, n_heads_ * head_dim_})});
}

at::Tensor Attention::attend_rotated(const CallContext& context, const at::Tensor& q,
                                     const at::Tensor& k, const at::Tensor& v) {
  at::Tensor keys = k.transpose(1, 2), values = v.transpose(1, 2);
  std::optional<at::Tensor> mask;
  if (context.kv_cache) {
    std::tie(keys, values) = context.kv_cache->append(layer_, keys, values);
    if (context.kv_cache->mask().defined()) mask = context.kv_cache->mask();
  }
  return attend(q.transpose(1, 2), keys, values, mask).transpose(1, 2);
}

}  // namespace titan::model
