#include "converters/output_shape.h"

#include "base/error.h"

namespace titan::converters {

ExpectedTensor facts_of(const at::Tensor& tensor) {
  return {tensor.sizes().vec(), tensor.scalar_type(), tensor.device()};
}

ExpectedTensor expected_output(const BoundImpl& bound, const model::Inputs& inputs) {
  const at::Tensor& x = inputs.at(0);
  ExpectedTensor expected = facts_of(x);
  const auto attribute = [&](const char* name) {
    return static_cast<int64_t>(bound.attributes.at(name));
  };
  if (bound.kind == TITAN_KIND_LINEAR) {
    expected.shape.back() = attribute("out_features");
  } else if (bound.kind == TITAN_KIND_EMBEDDING || bound.kind == TITAN_KIND_DECODER) {
    // Integer inputs: the type of the output is that of the parameters.
    expected.shape.push_back(attribute(bound.kind == TITAN_KIND_EMBEDDING ? "dim" : "vocab_size"));
    if (!bound.parameters.empty())
      expected.dtype = bound.parameters.front().second->tensor.scalar_type();
  }
  return expected;
}

std::string shape_text(at::IntArrayRef shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace titan::converters
