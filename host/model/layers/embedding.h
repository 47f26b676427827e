/// Rows of a table, chosen by token ids.
#pragma once

#include "model/module.h"

namespace titan::model {

class Embedding : public Module {
 public:
  /// weight: [num_embeddings, dim]. Input: int64 ids of any shape; output: that shape and dim.
  Embedding(int64_t num_embeddings, int64_t dim, at::ScalarType dtype, InitRule init);

 protected:
  at::Tensor forward(const CallContext& context, const Inputs& inputs) override;
};

}  // namespace titan::model
