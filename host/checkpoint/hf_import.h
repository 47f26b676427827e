/// Weights of a Hugging Face folder under the native names and in the native layout.
#pragma once

#include <ATen/core/TensorBody.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "model/train_spec.h"

namespace titan::checkpoint {

/// Told before each tensor: how many are done, of how many.
using WeightProgress = std::function<void(int64_t done, int64_t total)>;

/// Writes the weights of `folder` (one file, or several with an index) to `file`: each in its own
/// type, or all as `dtype`. Files are mapped and go through memory one tensor at a time. Throws a
/// data error that lists everything that does not fit before anything is written. Returns the
/// number of weights.
int64_t import_hf_weights(const std::filesystem::path& folder, const std::filesystem::path& file,
                          const model::TrainSpec& spec, const model::ModelArgs& args,
                          std::optional<at::ScalarType> dtype, const WeightProgress& progress);

/// Copies what belongs to a Hugging Face model beside its weights: config.json and
/// generation_config.json if `configs`, the tokenizer's files if `tokenizer`. Returns how many
/// files of each kind were there.
struct CopiedAssets {
  int64_t configs = 0;
  int64_t tokenizer = 0;
};
CopiedAssets copy_hf_assets(const std::filesystem::path& from, const std::filesystem::path& to,
                            bool configs, bool tokenizer);

}  // namespace titan::checkpoint
