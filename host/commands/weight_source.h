/// What a path on the command line means where a trained model is asked for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/load.h"
#include "model/train_spec.h"

namespace titan::commands {

/// A config whose checkpoint.initial_load_path (and adapter_load_path) are the weights.
struct WeightSource {
  config::LoadedConfig config;
  int64_t step = 0;           ///< optimizer steps that the weights have seen here; 0: not known
  bool hugging_face = false;  ///< the weights are those of a Hugging Face folder, not of a run
};

/// The latest complete step of a run's folder, or of the folder of its checkpoints; `given` itself
/// if it is neither. A data error if steps are there and none is complete.
std::filesystem::path latest_step(const std::filesystem::path& given);

/// `given` is one of: a step of a run (RUN/checkpoint/step-N), a run's folder (its latest step), a
/// config (the latest step of its run, else its initial weights), the output of titan import, a
/// Hugging Face folder. Throws a data or usage error if it is none of them, or has no weights.
WeightSource find_weights(const std::filesystem::path& given,
                          const std::vector<std::string>& overrides,
                          const model::TrainSpecRegistry& specs);

}  // namespace titan::commands
