#include "model/meta_kernels.h"

#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <optional>
#include <tuple>
#include <vector>

namespace titan::model {
namespace {

at::Tensor index_select_on_meta(const at::Tensor& self, int64_t dim, const at::Tensor& index) {
  std::vector<int64_t> shape = self.sizes().vec();
  shape.at(static_cast<size_t>(dim < 0 ? dim + self.dim() : dim)) = index.numel();
  return at::empty(shape, self.options());
}

at::Tensor embedding_backward_on_meta(const at::Tensor& grad, const at::Tensor& /*indices*/,
                                      c10::SymInt count, c10::SymInt /*padding*/,
                                      bool /*scale_by_frequency*/) {
  return at::empty({count.expect_int(), grad.size(-1)}, grad.options());
}

/// [B, H, S, D] that lies in memory as [B, S, H, D], as the kernel makes it: so the heads are
/// joined again without a copy.
at::Tensor heads_like(const at::Tensor& x) {
  return at::empty({x.size(0), x.size(2), x.size(1), x.size(3)}, x.options()).transpose(1, 2);
}

/// q [B, H, S, D], k and v [B, H or fewer, S, D]. Gives the output and the logarithm of the sum of
/// each row's exponentials, float32 [B, H, S].
std::tuple<at::Tensor, at::Tensor> attention_on_meta(const at::Tensor& q, const at::Tensor& /*k*/,
                                                     const at::Tensor& /*v*/, double /*dropout*/,
                                                     bool /*causal*/,
                                                     const std::optional<at::Tensor>& /*mask*/,
                                                     std::optional<double> /*scale*/) {
  const at::Tensor sums =
      at::empty({q.size(0), q.size(2), q.size(1)}, q.options().dtype(at::kFloat));
  return {heads_like(q), sums.transpose(1, 2)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> attention_backward_on_meta(
    const at::Tensor& /*grad*/, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
    const at::Tensor& /*output*/, const at::Tensor& /*sums*/, double /*dropout*/, bool /*causal*/,
    const std::optional<at::Tensor>& /*mask*/, std::optional<double> /*scale*/) {
  return {heads_like(q), heads_like(k), heads_like(v)};
}

/// Everything happens in place.
void fused_adam_on_meta(at::TensorList, at::TensorList, at::TensorList, at::TensorList,
                        at::TensorList, at::TensorList, double, double, double, double, double,
                        bool, bool, const std::optional<at::Tensor>&,
                        const std::optional<at::Tensor>&) {}

}  // namespace

void register_meta_kernels() {
  // Not at start, by static initialisers: programs that never ask for it keep torch as it is.
  static const torch::Library kernels = [] {
    torch::Library library(torch::Library::IMPL, "aten", c10::DispatchKey::Meta, __FILE__,
                           __LINE__);
    library.impl("index_select", &index_select_on_meta);
    library.impl("embedding_dense_backward", &embedding_backward_on_meta);
    library.impl("_scaled_dot_product_flash_attention_for_cpu", &attention_on_meta);
    library.impl("_scaled_dot_product_flash_attention_for_cpu_backward",
                 &attention_backward_on_meta);
    library.impl("_fused_adam_", &fused_adam_on_meta);
    library.impl("_fused_adamw_", &fused_adam_on_meta);
    return library;
  }();
}

}  // namespace titan::model
