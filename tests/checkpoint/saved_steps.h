/// Small checkpoints for tests.
#pragma once

#include <ATen/Functions.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/save_checkpoint.h"

namespace titan::test {

inline checkpoint::Manifest example_manifest(int64_t step) {
  checkpoint::Manifest manifest;
  manifest.position = {step, 64 * step, step + 1, 2, 1};
  manifest.loader.samples = 8 * step;
  manifest.loader.position = {1, 2, 3, 4, 5, 6, 7};
  manifest.loader.parts = {{2, 0, 0, 9, 0, 0, 0}, {0, 3, 0, 0, 1, 17, 5}};
  manifest.loader.total_bytes = 1000;
  manifest.seed = 7;
  manifest.generators = {{"cpu", "00ff"}};
  manifest.settings = {{"optimizer.lr", "0.0008"}, {"float8.recipe", "rowwise"}};
  manifest.converters = {{"a", "drift", "stats", "1.2.3", "/opt/stats.so", std::string(64, 'e')},
                         {"b", "own", "", "", "", ""}};
  manifest.made_by = "titan 0, LibTorch 2";
  return manifest;
}

/// Weights and state whose every value is `step`.
inline checkpoint::Snapshot example_snapshot(int64_t step, bool model_only = false) {
  checkpoint::Snapshot snapshot;
  snapshot.manifest = example_manifest(step);
  snapshot.manifest.model_only = model_only;
  snapshot.model = {{"norm.weight", at::full({3}, step, at::kFloat)}};
  snapshot.optimizer = {{"norm.weight.exp_avg", at::full({3}, step, at::kFloat)}};
  return snapshot;
}

/// Every name in the folder, sorted.
inline std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace titan::test
