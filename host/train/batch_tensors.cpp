#include "train/batch_tensors.h"

#include <ATen/Functions.h>

namespace titan::train {
namespace {

at::Tensor on_device(const std::vector<int64_t>& values, const data::Batch& batch,
                     at::Device device) {
  return at::tensor(values, at::kLong).view({batch.batch, batch.seq}).to(device);
}

}  // namespace

at::Tensor tokens_of(const data::Batch& batch, at::Device device) {
  return on_device(batch.tokens, batch, device);
}

at::Tensor labels_of(const data::Batch& batch, at::Device device) {
  return on_device(batch.labels, batch, device);
}

}  // namespace titan::train
