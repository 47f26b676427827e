/// One matrix product where the stock model has three or two: wq, wk, wv of attention lie behind one
/// another in `wqkv`, w1 and w3 of the feed-forward part in `w13`.
///
/// The fused parameters are declared as layouts, so files keep the stock names and shapes, fresh
/// weights are the same, and a checkpoint goes on in a run without this plugin, Adam's moments too.
#include <titan/torch.hpp>

#include "titan_note.h"  // made from fused_projections.json

namespace {

using namespace titan::sdk;  // NOLINT: a plugin is one file with hidden symbols
using TorchTensor = torch::stable::Tensor;

TorchTensor linear(const TorchTensor& x, const TorchTensor& weight) {
  return torch_op("aten::linear", "", x, weight, std::nullopt);
}

/// Parts of `sizes` along `dim`. Their gradients meet in one copy; those of narrow() would each fill a
/// tensor of the whole size with zeros first.
std::vector<TorchTensor> split(const TorchTensor& x, const std::vector<int64_t>& sizes, int64_t dim) {
  StableIValue stack[3] = {torch::stable::detail::from(x), torch::stable::detail::from(sizes),
                           torch::stable::detail::from(dim)};
  if (torch_call_dispatcher("aten::split_with_sizes", "", stack, TORCH_ABI_VERSION) != 0)
    throw Error(TITAN_FAILED, "aten::split_with_sizes failed");
  return torch::stable::detail::to<std::vector<TorchTensor>>(stack[0]);
}

/// Causal grouped-query attention: x [B, S, dim], rope [S, head_dim / 2, 2].
class FusedAttention final : public Impl {
 public:
  FusedAttention(int64_t heads, int64_t kv_heads, int64_t head_dim)
      : Impl(Gradients::kTorch), heads_(heads), kv_heads_(kv_heads), head_dim_(head_dim) {}

  void forward(const Call& call) override {
    const auto x = to_torch(call.get("x"));
    const auto rope = to_torch(call.get("rope"));
    const int64_t batch = x.size(0), length = x.size(1);
    const auto qkv = torch::stable::view(linear(x, to_torch(call.get("wqkv"))),
                                         {batch, length, heads_ + 2 * kv_heads_, head_dim_});
    const auto parts = split(qkv, {heads_, kv_heads_, kv_heads_}, 2);
    const auto swap = [](const TorchTensor& t) { return torch::stable::transpose(t, 1, 2); };
    const auto q = swap(torch_op("titan::apply_rope", "", parts[0], rope));
    const auto k = swap(torch_op("titan::apply_rope", "", parts[1], rope));
    const auto v = swap(parts[2]);
    const auto mixed =
        torch_op("aten::scaled_dot_product_attention", "", q, k, v, /*mask*/ std::nullopt,
                 /*dropout*/ 0.0, /*causal*/ true, /*scale*/ std::nullopt, heads_ != kv_heads_);
    const auto joined = torch::stable::reshape(swap(mixed), {batch, length, heads_ * head_dim_});
    call.set("y", from_torch(linear(joined, to_torch(call.get("wo.weight")))));
  }

 private:
  int64_t heads_, kv_heads_, head_dim_;
};

/// y = w2(silu(w1 x) * w3 x).
class FusedFeedForward final : public Impl {
 public:
  explicit FusedFeedForward(int64_t hidden) : Impl(Gradients::kTorch), hidden_(hidden) {}

  void forward(const Call& call) override {
    const auto both = split(linear(to_torch(call.get("x")), to_torch(call.get("w13"))), {hidden_, hidden_}, -1);
    const auto product = torch_op("aten::mul", "Tensor", torch_op("aten::silu", "", both[0]), both[1]);
    call.set("y", from_torch(linear(product, to_torch(call.get("w2.weight")))));
  }

 private:
  int64_t hidden_;
};

class FusedProjections {
 public:
  explicit FusedProjections(const Create& create)
      : attention_(create.option<bool>("attention")),
        feed_forward_(create.option<bool>("feed_forward")) {}

  void convert(const Model& model) const {
    const auto number = [](const Module& module, const char* name) {
      return static_cast<int64_t>(module.attribute(name));
    };
    if (attention_)
      for (const Module& module : model.modules(TITAN_KIND_ATTENTION)) {
        module.concatenate("wqkv", 0, {"wq.weight", "wk.weight", "wv.weight"});
        module.replace(std::make_unique<FusedAttention>(number(module, "n_heads"),
                                                        number(module, "n_kv_heads"),
                                                        number(module, "head_dim")));
      }
    if (feed_forward_)
      for (const Module& module : model.modules(TITAN_KIND_FEED_FORWARD)) {
        module.concatenate("w13", 0, {"w1.weight", "w3.weight"});
        module.replace(std::make_unique<FusedFeedForward>(number(module, "hidden_dim")));
      }
  }

 private:
  bool attention_, feed_forward_;
};

}  // namespace

TITAN_CONVERTERS(converter<FusedProjections>("fused_projections"))
