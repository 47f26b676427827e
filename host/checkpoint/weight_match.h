/// Which tensor of the files is which parameter of a model that need not exist in memory.
#pragma once

#include <ATen/core/TensorBody.h>

#include <map>
#include <string>
#include <vector>

#include "checkpoint/weight_files.h"
#include "model/train_spec.h"

namespace titan::checkpoint {

/// A parameter and where its values are.
struct MatchedWeight {
  std::string name;            ///< native
  std::vector<int64_t> shape;  ///< native
  std::string source;          ///< name in the files
};

/// Every parameter of the stock model of `args`, in registration order, with the tensor of `files`
/// that holds it: under its Hugging Face name if `hf` is given, else under its own. Names with a
/// slash, which converters added, are passed over. Throws one data error that lists what is
/// missing, unknown, of another shape, or no floating-point type; also if a tied parameter is
/// stored twice with two values.
std::vector<MatchedWeight> match_weights(const WeightFiles& files, const model::TrainSpec& spec,
                                         const model::ModelArgs& args, const model::HfNaming* hf);

/// `tensor` as `type`. A data error that names it if that makes values infinite, or if it holds
/// values that are not finite.
at::Tensor cast_exactly_finite(const std::string& name, const at::Tensor& tensor,
                               at::ScalarType type, const std::string& where);

}  // namespace titan::checkpoint
