/// Weights of the Llama kind under Hugging Face names, and back: names, and the order of rotary
/// rows.
#pragma once

#include <ATen/core/TensorBody.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/model_args.h"

namespace titan::model {

/// How one model's weights are called and laid out in Hugging Face files.
class HfNaming {
 public:
  virtual ~HfNaming() = default;

  /// "layers.0.attention.wq.weight" to "model.layers.0.self_attn.q_proj.weight"; nothing for a name
  /// that has no counterpart there (state of a converter).
  virtual std::optional<std::string> to_hf(std::string_view native) const = 0;

  /// The other way; nothing for a name that is not of this model.
  virtual std::optional<std::string> to_native(std::string_view hf) const = 0;

  /// Whether an entry of HF files carries nothing that the model needs (rotary_emb.inv_freq).
  virtual bool ignored(std::string_view hf) const = 0;

  /// The value of parameter `native` as HF files hold it, and back; meta tensors too. A data error
  /// if the shape cannot be that of the parameter.
  virtual at::Tensor value_to_hf(std::string_view native, const at::Tensor& value) const = 0;
  virtual at::Tensor value_to_native(std::string_view native, const at::Tensor& value) const = 0;
};

/// Llama and Qwen3: the same names, where Qwen3 has norms of q and k besides.
class LlamaHfNaming : public HfNaming {
 public:
  explicit LlamaHfNaming(const ModelArgs& args) : args_(args) {}

  std::optional<std::string> to_hf(std::string_view native) const override;
  std::optional<std::string> to_native(std::string_view hf) const override;
  bool ignored(std::string_view hf) const override;
  at::Tensor value_to_hf(std::string_view native, const at::Tensor& value) const override;
  at::Tensor value_to_native(std::string_view native, const at::Tensor& value) const override;

 private:
  /// Heads whose rows are in another order there (wq, wk and their norms), else 0.
  int64_t permuted_heads(std::string_view native) const;

  ModelArgs args_;
};

/// HF turns the pairs (i, i + head_dim / 2), the native model (2i, 2i + 1): rows of each head of a
/// [heads * head_dim, in] or [heads * head_dim] weight go from 0 1 2 3 .. to 0 2 4 .. 1 3 5 .., and
/// back.
at::Tensor rope_rows_to_hf(const at::Tensor& weight, int64_t heads);
at::Tensor rope_rows_to_native(const at::Tensor& weight, int64_t heads);

}  // namespace titan::model
