/// Keys and values of the tokens that a decoder has read, so that reading on costs one token a
/// step.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "model/module.h"

namespace titan::model {

/// Holds some rows (sequences), each with a length of its own. A call of the decoder with this
/// cache takes tokens [n, S] for the chosen rows, puts them behind what the rows hold, and gives
/// the logits of the last token alone, [n, 1, vocab_size]: those that the whole sequences would
/// give, to rounding, as long as all that mixes tokens is the decoder's own (see fits()). Not for
/// gradients.
class KvCache {
 public:
  /// `capacity`: the most tokens that a row will hold. Memory is taken with the first token.
  KvCache(int64_t rows, int64_t capacity);

  /// Whether `root` may read with a cache: no converter has changed a decoder, block or attention
  /// of it, for such code may look at more tokens than the new ones.
  static bool fits(Module& root);

  int64_t rows() const { return static_cast<int64_t>(lengths_.size()); }
  int64_t capacity() const { return capacity_; }
  int64_t length(int64_t row) const { return lengths_[row]; }

  /// The rows that the next calls are about; at first all.
  void choose(int64_t first, int64_t count);
  /// Forgets all rows but these, which become 0, 1, ...; all of them are chosen.
  void keep_rows(const std::vector<int64_t>& rows);

  /// The decoder, before the layers: `tokens` of each chosen row come. Rows of different lengths
  /// take one token at a time. Throws an internal error if they do not fit.
  void begin(int64_t tokens);
  /// Rotations of the new tokens, from those of all positions [capacity or more, D/2, 2]: [S, D/2,
  /// 2], or [n, S, D/2, 2] if the chosen rows have different lengths.
  at::Tensor rotations(const at::Tensor& table) const;
  /// A layer: keeps k and v [n, heads, S, D] of the new tokens and returns those of all tokens,
  /// [n, heads, K, D] with K the longest row's.
  std::pair<at::Tensor, at::Tensor> append(int64_t layer, const at::Tensor& k, const at::Tensor& v);
  /// Which of K tokens each new one sees, to be broadcast to [n, heads, S, K]; undefined: all of
  /// them if S is 1, else those up to itself.
  const at::Tensor& mask() const { return mask_; }
  /// The decoder, after the layers.
  void end();

 private:
  struct Layer {
    at::Tensor k, v;  ///< [rows, heads, capacity, D]
  };
  bool same_lengths() const;

  int64_t capacity_;
  std::vector<int64_t> lengths_;
  int64_t first_ = 0, count_;
  int64_t coming_ = 0;   ///< tokens of the call in progress
  int64_t longest_ = 0;  ///< of the chosen rows, with the coming tokens
  std::vector<Layer> layers_;
  at::Tensor mask_;
};

}  // namespace titan::model
