/// Writes one checkpoint: all of it appears under its name, or nothing.
#pragma once

#include <ATen/core/TensorBody.h>

#include <filesystem>
#include <map>
#include <string>

#include "checkpoint/manifest.h"

namespace titan::checkpoint {

/// Everything that a checkpoint holds. Its tensors must not change until it is written.
struct Snapshot {
  Manifest manifest;  ///< without `files`, which writing finds out
  std::map<std::string, at::Tensor> model;
  std::map<std::string, at::Tensor> optimizer;  ///< not written if manifest.model_only
};

/// Makes `root` if need be and writes `<root>/step-N`. Files and folders have reached the disk when
/// it returns. Throws an environment error if that fails; what was there before is untouched then
/// and no partial file stays.
void save_checkpoint(const std::filesystem::path& root, Snapshot snapshot);

}  // namespace titan::checkpoint
