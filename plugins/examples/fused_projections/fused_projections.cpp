/// One matrix product where the stock model has three or two: wq, wk, wv of attention lie behind
/// one another in `wqkv`, w1 and w3 of the feed-forward part in `w13`.
///
/// The fused parameters are declared as layouts, so files keep the stock names and shapes, fresh
/// weights are the same, and a checkpoint goes on in a run without this plugin, Adam's moments too.
#include <titan/torch.hpp>

#include "swiglu.h"
#include "titan_note.h"  // made from fused_projections.json

namespace {

using namespace titan::sdk;  // NOLINT: a plugin is one file with hidden symbols
using TorchTensor = torch::stable::Tensor;

TorchTensor linear(const TorchTensor& x, const TorchTensor& weight) {
  return torch_op("aten::linear", "", x, weight, std::nullopt);
}

/// Parts of `sizes` along `dim`. Their gradients meet in one copy; those of narrow() would each
/// fill a tensor of the whole size with zeros first.
std::vector<TorchTensor> split(const TorchTensor& x, const std::vector<int64_t>& sizes,
                               int64_t dim) {
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
    // q and k lie side by side: one rotation for both.
    const auto parts = split(qkv, {heads_ + kv_heads_, kv_heads_}, 2);
    const auto rotated =
        split(torch_op("titan::apply_rope", "", parts[0], rope), {heads_, kv_heads_}, 2);
    const auto swap = [](const TorchTensor& t) { return torch::stable::transpose(t, 1, 2); };
    const auto q = swap(rotated[0]), k = swap(rotated[1]), v = swap(parts[1]);
    const auto mixed =
        torch_op("aten::scaled_dot_product_attention", "", q, k, v, /*mask*/ std::nullopt,
                 /*dropout*/ 0.0, /*causal*/ true, /*scale*/ std::nullopt, heads_ != kv_heads_);
    const auto joined = torch::stable::reshape(swap(mixed), {batch, length, heads_ * head_dim_});
    call.set("y", from_torch(linear(joined, to_torch(call.get("wo.weight")))));
  }

 private:
  int64_t heads_, kv_heads_, head_dim_;
};

/// y = w2(silu(w1 x) * w3 x) with gradients of its own: of the activations only w13's product is
/// kept.
class FusedFeedForward final : public Impl {
 public:
  FusedFeedForward() : Impl(Gradients::kOwn) {}

  void forward(const Call& call) override {
    const auto x = to_torch(call.get("x"));
    const auto both = linear(x, to_torch(call.get("w13")));
    call.set("y", from_torch(linear(product_of(both), to_torch(call.get("w2.weight")))));
    call.save(call.get("x"));
    call.save(from_torch(both).ref());
  }

  void backward(const Call& call) override {
    const auto x = to_torch(call.saved(0)), both = to_torch(call.saved(1));
    const auto grad_y = to_torch(call.grad_output());
    auto grad_product = torch::stable::matmul(grad_y, to_torch(call.get("w2.weight")));
    const auto [grad_both, product] = gradients_of(both, std::move(grad_product));
    if (call.needs_grad("x"))
      call.set_grad("x", from_torch(torch::stable::matmul(grad_both, to_torch(call.get("w13")))));
    if (call.needs_grad("w13")) call.set_grad("w13", from_torch(outer(grad_both, x)));
    if (call.needs_grad("w2.weight"))
      call.set_grad("w2.weight", from_torch(outer(grad_y, product)));
  }

 private:
  /// The gradient of a weight: g [.., out], x [.., in] give [out, in].
  static TorchTensor outer(const TorchTensor& g, const TorchTensor& x) {
    const auto rows = [](const TorchTensor& t) {
      return torch::stable::reshape(t, {-1, t.size(-1)});
    };
    return torch::stable::matmul(torch::stable::transpose(rows(g), 0, 1), rows(x));
  }
  static bool in_one_pass(const TorchTensor& both) {
    return both.is_cpu() && both.scalar_type() == torch::headeronly::ScalarType::Float &&
           both.is_contiguous();
  }
  static std::vector<TorchTensor> halves(const TorchTensor& both) {
    return split(both, {both.size(-1) / 2, both.size(-1) / 2}, -1);
  }
  /// Calls rows(begin, end) on torch's threads; `hidden` numbers a row.
  template <class Rows>
  static void for_rows(int64_t count, int64_t hidden, const Rows& rows) {
    torch::stable::parallel_for(0, count, 1 + 32768 / (hidden + 1), rows);
  }

  static TorchTensor product_of(const TorchTensor& both) {
    if (!in_one_pass(both)) {
      const auto parts = halves(both);
      return torch_op("aten::mul", "Tensor", torch_op("aten::silu", "", parts[0]), parts[1]);
    }
    auto shape = both.sizes().vec();
    const int64_t hidden = shape.back() /= 2;
    auto product = torch::stable::new_empty(both, shape);
    const auto* from = static_cast<const float*>(both.data_ptr());
    auto* to = static_cast<float*>(product.data_ptr());
    for_rows(both.numel() / (2 * hidden), hidden,
             [=](int64_t begin, int64_t end) { swiglu::forward(from, to, hidden, begin, end); });
    return product;
  }

  /// The gradient of `both`, and the product again.
  static std::pair<TorchTensor, TorchTensor> gradients_of(const TorchTensor& both,
                                                          TorchTensor grad) {
    if (!in_one_pass(both) || !in_one_pass(grad)) {
      const auto parts = halves(both);
      const auto silu = torch_op("aten::silu", "", parts[0]);
      const auto grad_gate = torch_op("aten::silu_backward", "",
                                      torch_op("aten::mul", "Tensor", grad, parts[1]), parts[0]);
      const std::vector<TorchTensor> grads = {grad_gate,
                                              torch_op("aten::mul", "Tensor", grad, silu)};
      return {torch_op("aten::cat", "", grads, int64_t{-1}),
              torch_op("aten::mul", "Tensor", silu, parts[1])};
    }
    const int64_t hidden = both.size(-1) / 2;
    auto grad_both = torch::stable::empty_like(both);
    const auto* from = static_cast<const float*>(both.data_ptr());
    auto* values = static_cast<float*>(grad.data_ptr());
    auto* to = static_cast<float*>(grad_both.data_ptr());
    for_rows(both.numel() / (2 * hidden), hidden, [=](int64_t begin, int64_t end) {
      swiglu::backward(from, values, to, hidden, begin, end);
    });
    return {grad_both, grad};
  }
};

class FusedProjections {
 public:
  explicit FusedProjections(const Create& create)
      : attention_(create.option<bool>("attention")),
        feed_forward_(create.option<bool>("feed_forward")),
        tokens_(create.tokens_per_call()),
        element_size_(create.compute_dtype().bits / 8) {}

  void convert(const Model& model) const {
    const auto number = [](const Module& module, const char* name) {
      return static_cast<int64_t>(module.attribute(name));
    };
    // These would lose their norms of q and k.
    if (attention_)
      for (const Module& module : model.modules(TITAN_KIND_QK_NORM_ATTENTION))
        module.keep("q and k are normalised between the products and the rotation");
    if (attention_)
      for (const Module& module : model.modules(TITAN_KIND_ATTENTION)) {
        module.concatenate("wqkv", 0, {"wq.weight", "wk.weight", "wv.weight"});
        module.replace(std::make_unique<FusedAttention>(
            number(module, "n_heads"), number(module, "n_kv_heads"), number(module, "head_dim")));
        describe(module, attention_memory(number(module, "n_heads"), number(module, "n_kv_heads"),
                                          number(module, "head_dim")));
      }
    if (feed_forward_)
      for (const Module& module : model.modules(TITAN_KIND_FEED_FORWARD)) {
        module.concatenate("w13", 0, {"w1.weight", "w3.weight"});
        module.replace(std::make_unique<FusedFeedForward>());
        describe(module, feed_forward_memory(number(module, "hidden_dim")));
      }
  }

 private:
  /// For titan estimate. Autograd keeps qkv (v is a part of it), q and k turned, and the heads'
  /// output with one float32 a head; turning goes through float32.
  Memory attention_memory(int64_t heads, int64_t kv_heads, int64_t head_dim) const {
    Memory memory;
    memory.keeps_inputs = true;
    memory.saved_bytes = tokens_ * (3 * (heads + kv_heads) * head_dim * element_size_ + 4 * heads);
    memory.working_bytes = tokens_ * (heads + kv_heads) * head_dim * (4 + element_size_);
    return memory;
  }
  /// w13's product is kept; in backward its gradient and that of the product are there at once.
  Memory feed_forward_memory(int64_t hidden) const {
    Memory memory;
    memory.keeps_inputs = true;
    memory.saved_bytes = tokens_ * 2 * hidden * element_size_;
    memory.working_bytes = tokens_ * 3 * hidden * element_size_;
    return memory;
  }
  void describe(const Module& module, const Memory& memory) const {
    if (tokens_ > 0)
      module.predict_memory(memory, tokens_, "sizes of the tensors of the fused layers");
  }

  bool attention_, feed_forward_;
  int64_t tokens_;        ///< of a call; 0: not known
  int64_t element_size_;  ///< bytes, of what linears compute in
};

}  // namespace

TITAN_CONVERTERS(converter<FusedProjections>("fused_projections"))
