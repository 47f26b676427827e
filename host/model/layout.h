/// Parameters that hold stock parameters in another layout: concatenated, permuted, cut.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/init_rule.h"

namespace titan::model {

/// One piece of a parameter: a stock parameter (or a slice of it) at its place along one dimension.
struct LayoutPart {
  std::string source;                 ///< fqn of the stock parameter: its name in files
  std::vector<int64_t> source_shape;  ///< of the whole stock parameter
  InitRule init;  ///< of the stock parameter, so that fresh weights do not change
  std::string init_key;
  int64_t slice_dim = -1;  ///< of the source; -1: the piece is all of it
  int64_t slice_start = 0;
  int64_t slice_length = 0;
  /// Dimension i of the piece is dimension permutation[i] of the source; empty: the same.
  std::vector<int64_t> permutation;
  int64_t concat_dim = 0;    ///< of the parameter that the piece is part of
  int64_t concat_start = 0;  ///< first index of the piece along it

  /// Shape of the piece as it lies in the parameter.
  std::vector<int64_t> piece_shape() const;
  /// The piece inside `whole` (the parameter, or a tensor of its shape), with the source's
  /// dimensions in the source's order: a view.
  at::Tensor view_in(const at::Tensor& whole) const;
};

/// A tensor under the name and in the shape of a stock parameter.
class StockTensor {
 public:
  StockTensor(std::string name, at::Tensor view)
      : name_(std::move(name)), tensor_(std::move(view)) {}
  /// Made of slices, which lie in several parameters: a copy.
  StockTensor(std::string name, std::vector<std::pair<LayoutPart, at::Tensor>> slices);

  const std::string& name() const { return name_; }
  const at::Tensor& tensor() const { return tensor_; }
  /// Whether tensor() shares memory with the parameter.
  bool is_view() const { return slices_.empty(); }
  /// Brings what was written into tensor() to where it belongs; nothing to do for a view.
  void write_back() const;

 private:
  std::string name_;
  at::Tensor tensor_;
  std::vector<std::pair<LayoutPart, at::Tensor>> slices_;  ///< and the parameter each lies in
};

/// The stock tensors that `wholes` hold together: pairs of a parameter's layout and the parameter
/// (or a tensor of its shape, such as a moment of the optimizer).
std::vector<StockTensor> stock_tensors(
    const std::vector<std::pair<std::vector<LayoutPart>, at::Tensor>>& wholes);

}  // namespace titan::model
