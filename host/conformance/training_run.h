/// A short run of the real trainer on a small model, with the converter under test.
#pragma once

#include <ATen/core/TensorBody.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conformance/subject.h"
#include "converters/registry.h"
#include "model/train_spec.h"
#include "train/trainer.h"

namespace titan::conformance {

struct RunOptions {
  std::string activation_checkpoint = "none";  ///< as activation_checkpoint.mode
  std::string parameter_type = "float32";      ///< as training.dtype
  std::string compute_type = "float32";        ///< as training.mixed_precision_param
  int64_t micro_batches = 1;
  /// A folder with a checkpoint to go on from; empty: from fresh weights.
  std::filesystem::path resume_from = {};
};

class TrainingRun {
 public:
  /// Writes its data set into the scratch folder of the subject.
  TrainingRun(const Subject& subject, const converters::Registry& registry,
              const RunOptions& options);

  void step(int64_t count);
  /// Writes a checkpoint below `root`.
  void save(const std::filesystem::path& root);
  /// Losses and gradient norms of the steps taken here, by name, beside weights, buffers and the
  /// optimizer's state: all that a later step depends on. Copies.
  std::map<std::string, at::Tensor> record();
  train::Trainer& trainer() { return *trainer_; }

 private:
  model::TrainSpecRegistry specs_;
  std::unique_ptr<train::Trainer> trainer_;
  std::map<std::string, at::Tensor> numbers_;
};

}  // namespace titan::conformance
