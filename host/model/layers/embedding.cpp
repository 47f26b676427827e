#include "model/layers/embedding.h"

#include <ATen/ops/embedding.h>

#include <utility>

namespace titan::model {

Embedding::Embedding(int64_t num_embeddings, int64_t dim, at::ScalarType dtype, InitRule init)
    : Module("embedding") {
  set_attribute("num_embeddings", static_cast<double>(num_embeddings));
  set_attribute("dim", static_cast<double>(dim));
  add_parameter("weight", {num_embeddings, dim}, dtype, std::move(init));
}

at::Tensor Embedding::forward(const CallContext&, const Inputs& inputs) {
  return at::embedding(parameter("weight").tensor, inputs[0]);
}

}  // namespace titan::model
