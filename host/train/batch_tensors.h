/// A batch as the model takes it.
#pragma once

#include <ATen/core/TensorBody.h>

#include "data/batch.h"

namespace titan::train {

at::Tensor tokens_of(const data::Batch& batch, at::Device device);  ///< int64 [batch, seq]
at::Tensor labels_of(const data::Batch& batch, at::Device device);  ///< int64 [batch, seq]

}  // namespace titan::train
