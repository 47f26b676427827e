#include "model/kv_cache.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "base/error.h"

namespace titan::model {

KvCache::KvCache(int64_t rows, int64_t capacity)
    : capacity_(capacity), lengths_(static_cast<size_t>(rows), 0), count_(rows) {}

bool KvCache::fits(Module& root) {
  bool fits = true;
  visit_modules(root, [&fits](Module& module) {
    const std::string& kind = module.kind();
    const bool mixes_tokens =
        kind == "decoder" || kind == "block" || kind == "attention" || kind == "qk_norm_attention";
    if (mixes_tokens && (module.replaced() || module.wrapped())) fits = false;
  });
  return fits;
}

void KvCache::choose(int64_t first, int64_t count) {
  if (first < 0 || count < 1 || first + count > rows())
    throw internal_error("these rows are not in the cache", "KvCache");
  first_ = first;
  count_ = count;
}

void KvCache::keep_rows(const std::vector<int64_t>& kept) {
  std::vector<int64_t> lengths;
  for (const int64_t row : kept) lengths.push_back(lengths_.at(static_cast<size_t>(row)));
  for (Layer& layer : layers_) {
    const at::Tensor index =
        at::tensor(kept, at::TensorOptions().dtype(at::kLong)).to(layer.k.device());
    layer.k = layer.k.index_select(0, index);
    layer.v = layer.v.index_select(0, index);
  }
  lengths_ = std::move(lengths);
  first_ = 0;
  count_ = rows();
}

bool KvCache::same_lengths() const {
  return std::all_of(lengths_.begin() + first_, lengths_.begin() + first_ + count_,
                     [&](int64_t length) { return length == lengths_[first_]; });
}

void KvCache::begin(int64_t tokens) {
  coming_ = tokens;
  longest_ =
      *std::max_element(lengths_.begin() + first_, lengths_.begin() + first_ + count_) + tokens;
  if (longest_ > capacity_)
    throw internal_error("more tokens than the cache was made for", "KvCache");
  mask_ = at::Tensor();
  if (!same_lengths()) {
    if (tokens != 1)
      throw internal_error("rows of different lengths take one token at a time", "KvCache");
    const std::vector<int64_t> held(lengths_.begin() + first_, lengths_.begin() + first_ + count_);
    const at::Tensor own = at::tensor(held, at::kLong).view({count_, 1, 1, 1});
    mask_ = at::arange(longest_, at::kLong).le(own);
  } else if (tokens > 1 && longest_ > tokens) {
    const at::Tensor own = at::arange(longest_ - tokens, longest_, at::kLong).view({tokens, 1});
    mask_ = at::arange(longest_, at::kLong).le(own);
  }
}

at::Tensor KvCache::rotations(const at::Tensor& table) const {
  if (same_lengths()) return table.narrow(0, longest_ - coming_, coming_);
  const std::vector<int64_t> held(lengths_.begin() + first_, lengths_.begin() + first_ + count_);
  return table.index_select(0, at::tensor(held, at::kLong).to(table.device())).unsqueeze(1);
}

std::pair<at::Tensor, at::Tensor> KvCache::append(int64_t layer, const at::Tensor& k,
                                                  const at::Tensor& v) {
  if (static_cast<size_t>(layer) >= layers_.size()) layers_.resize(static_cast<size_t>(layer) + 1);
  Layer& held = layers_[static_cast<size_t>(layer)];
  if (!held.k.defined()) {
    // Zeros: what the mask hides counts with weight 0, and 0 times what memory held may be NaN.
    held.k = at::zeros({rows(), k.size(1), capacity_, k.size(3)}, k.options());
    held.v = at::zeros({rows(), v.size(1), capacity_, v.size(3)}, v.options());
  }
  if (mask_.defined() && mask_.device() != k.device()) mask_ = mask_.to(k.device());
  const bool same = same_lengths();
  for (int64_t row = 0; row < (same ? 1 : count_); ++row) {
    const int64_t rows = same ? count_ : 1, first = first_ + row, at = lengths_[first];
    held.k.narrow(0, first, rows).narrow(2, at, coming_).copy_(k.narrow(0, row, rows));
    held.v.narrow(0, first, rows).narrow(2, at, coming_).copy_(v.narrow(0, row, rows));
  }
  const auto all = [&](const at::Tensor& tensor) {
    return tensor.narrow(0, first_, count_).narrow(2, 0, longest_);
  };
  return {all(held.k), all(held.v)};
}

void KvCache::end() {
  for (int64_t row = first_; row < first_ + count_; ++row) lengths_[row] += coming_;
  coming_ = 0;
}

}  // namespace titan::model
