#include "model/layout.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <map>

namespace titan::model {

std::vector<int64_t> LayoutPart::piece_shape() const {
  std::vector<int64_t> sliced = source_shape;
  if (slice_dim >= 0) sliced[static_cast<size_t>(slice_dim)] = slice_length;
  if (permutation.empty()) return sliced;
  std::vector<int64_t> shape;
  for (const int64_t dim : permutation) shape.push_back(sliced[static_cast<size_t>(dim)]);
  return shape;
}

at::Tensor LayoutPart::view_in(const at::Tensor& whole) const {
  const int64_t length = piece_shape()[static_cast<size_t>(concat_dim)];
  const at::Tensor piece = whole.narrow(concat_dim, concat_start, length);
  if (permutation.empty()) return piece;
  std::vector<int64_t> back(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i)
    back[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  return piece.permute(back);
}

StockTensor::StockTensor(std::string name, std::vector<std::pair<LayoutPart, at::Tensor>> slices)
    : name_(std::move(name)), slices_(std::move(slices)) {
  const at::NoGradGuard no_grad;
  const auto& [first, whole] = slices_.front();
  tensor_ = at::empty(first.source_shape, whole.options().requires_grad(false));
  for (const auto& [part, tensor] : slices_)
    tensor_.narrow(part.slice_dim, part.slice_start, part.slice_length).copy_(part.view_in(tensor));
}

void StockTensor::write_back() const {
  const at::NoGradGuard no_grad;
  for (const auto& [part, whole] : slices_)
    part.view_in(whole).copy_(tensor_.narrow(part.slice_dim, part.slice_start, part.slice_length));
}

std::vector<StockTensor> stock_tensors(
    const std::vector<std::pair<std::vector<LayoutPart>, at::Tensor>>& wholes) {
  const at::NoGradGuard no_grad;
  std::vector<StockTensor> result;
  std::map<std::string, std::vector<std::pair<LayoutPart, at::Tensor>>> slices;
  for (const auto& [parts, whole] : wholes)
    for (const LayoutPart& part : parts) {
      if (part.slice_dim < 0)
        result.emplace_back(part.source, part.view_in(whole.detach()));
      else
        slices[part.source].emplace_back(part, whole.detach());
    }
  for (auto& [name, pieces] : slices) result.emplace_back(name, std::move(pieces));
  return result;
}

}  // namespace titan::model
