/// A folder that transformers loads as it is, from the weights of a run.
#pragma once

#include <ATen/core/TensorBody.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/hf_import.h"
#include "model/train_spec.h"

namespace titan::checkpoint {

struct HfExport {
  std::filesystem::path weights;  ///< native: a step of a run, or a file or folder of weights
  model::ModelArgs args;          ///< with max_seq_len of the model, not of a run
  at::ScalarType dtype = at::kBFloat16;
  int64_t max_shard_bytes = 5'000'000'000;
  bool merge_lora = false;
  /// Instances of converters whose added state is not exported.
  std::vector<std::string> leave_out;
  /// Settings of the run that made the weights: they hold the strength of adapters.
  std::map<std::string, std::string> settings;
  /// Folders with the config.json to go on from and with the tokenizer's files; either may be
  /// empty.
  std::filesystem::path assets, tokenizer;
};

struct HfExportReport {
  int64_t tensors = 0;
  int64_t files = 0;   ///< of weights
  int64_t bytes = 0;   ///< of weights
  int64_t merged = 0;  ///< weights that took in an adapter
  CopiedAssets copied;
};

/// Writes config.json, the weights (with an index if they take several files) and what `assets` and
/// `tokenizer` hold to `output`, which appears whole or not at all and must not be there yet. One
/// tensor at a time is in memory. Throws a usage error that names the tensors if converters added
/// state that the form cannot express, a data error for weights that do not fit the model or the
/// type.
HfExportReport export_hf(const HfExport& request, const model::TrainSpec& spec,
                         const std::filesystem::path& output, const WeightProgress& progress);

}  // namespace titan::checkpoint
