/// Memory and work of one training step, before it is run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/config.h"
#include "converters/container.h"
#include "model/model_args.h"
#include "model/module.h"
#include "model/train_spec.h"

namespace titan::train {

/// What one device holds, in bytes.
struct MemoryParts {
  int64_t parameters = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;  ///< Adam's moments
  int64_t buffers = 0;
  int64_t compute_copies = 0;  ///< parameters in the type that matrices are multiplied in
  int64_t gathered = 0;        ///< sharded: what is whole for a while
  int64_t activations = 0;     ///< kept for backward, and what operators take while they compute
  int64_t converters = 0;      ///< what plugin code is expected to hold
  int64_t total() const;
};

/// Of one step of a config. Memory is that of one device; all devices hold the same.
struct StepEstimate {
  int64_t parameters = 0, trainable = 0;  ///< values
  int64_t devices = 1, shard_degree = 1;
  int64_t micro_batches = 1;  ///< on each device
  int64_t tokens = 0;         ///< on all devices
  /// Complete gradients; activations and converters between forward and backward.
  MemoryParts states;
  /// When the sum is largest: activations fall while gradients grow.
  MemoryParts peak;
  /// On one device. By torchtitan's definition (see model::flops_per_token), less what frozen
  /// parameters save, more what added ones take.
  double flops = 0;
  double recomputed_flops = 0;  ///< forward that is run a second time
  std::vector<std::string> assumptions;
};

/// `root`: the model of `config` on the meta device, converted by `container`, its blocks marked
/// for recomputation. Runs forward and backward on it (see profile_step): it cannot be trained
/// after.
///
/// Several devices are taken to work as FSDP2 does: each holds its share of parameters, gradients
/// and optimizer state; two units (a block each; embedding, last norm and head are one) are
/// gathered in the type that they compute in, and the gradients of one are whole.
StepEstimate estimate_step(model::Module& root, const model::ModelArgs& args,
                           const config::Config& config,
                           const converters::ModelConvertersContainer& container);

/// The same for a model that is built for it. Takes no memory for weights; 405B takes a second.
StepEstimate estimate_config(const config::Config& config, const model::TrainSpec& spec,
                             const converters::Registry& registry,
                             const std::vector<config::ConverterRequest>& requests,
                             const converters::DeviceFacts& device);

/// A setting that changes what a step takes.
struct Knob {
  std::string text;  ///< "activation_checkpoint.mode: full"
  config::Config config;
};

/// What else the config could say to save memory, or to trade some for speed: each is `config` with
/// one thing changed.
std::vector<Knob> memory_knobs(const config::Config& config);

}  // namespace titan::train
