/// What one forward call is trained on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace titan::data {

/// Labels of this value take no part in the loss.
inline constexpr int64_t kIgnoreIndex = -100;

/// `batch` samples of `seq` tokens each, row by row; labels are the tokens shifted by one.
struct Batch {
  int64_t batch = 0;
  int64_t seq = 0;
  std::vector<int64_t> tokens;  ///< [batch, seq]
  std::vector<int64_t> labels;  ///< [batch, seq]
};

/// Labels that count: the loss is a sum divided by this number over the whole global batch.
inline int64_t count_valid_labels(std::span<const int64_t> labels) {
  return static_cast<int64_t>(labels.size()) -
         std::count(labels.begin(), labels.end(), kIgnoreIndex);
}

}  // namespace titan::data
