/// A small Llama with the converter under test applied, and passes through it.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conformance/subject.h"
#include "converters/container.h"
#include "converters/registry.h"
#include "model/model_args.h"
#include "model/module.h"
#include "plugins/loader.h"

namespace titan::conformance {

/// The plugin of the subject, loaded into this process through probed_host() or `host`.
plugins::LoadedPlugin load_subject(const Subject& subject, const titan_host* host = nullptr);
/// Its converters, frozen. Loads the file if that has not happened in this process. Torch computes
/// on one thread from here on: sums then come out the same whatever the machine.
converters::Registry registry_of(const Subject& subject);

inline constexpr int64_t kTrialVocabulary = 64, kTrialLength = 16;

/// Every width is a multiple of 16, as kernels like it; n_layers blocks.
model::ModelArgs trial_model_args(int64_t n_layers);

struct TrialOptions {
  at::ScalarType dtype = at::kFloat;
  int64_t n_layers = 2;
  /// Moves every parameter away from its initial value, so that no gradient is zero and no gain one
  /// by accident. Stock parameters move alike in every model of the seed.
  bool shake = true;
  bool shake_added = true;  ///< also those that converters added
  uint64_t seed = 0;
};

/// Results of forward and backward; gradients under the names of stock parameters ("<instance>/..."
/// for added ones), in their shapes. Nothing in it shares memory with the model.
struct TrialPass {
  at::Tensor logits;
  double loss = 0;
  std::map<std::string, at::Tensor> gradients;
};

class TrialModel {
 public:
  /// create, convert, initial values, after_init: throws what the host throws where one of them
  /// fails.
  TrialModel(const converters::Registry& registry, std::vector<config::ConverterRequest> requests,
             const TrialOptions& options);
  ~TrialModel();
  TrialModel(const TrialModel&) = delete;
  TrialModel& operator=(const TrialModel&) = delete;

  model::Module& root() { return *root_; }
  converters::ModelConvertersContainer& converters() { return *converters_; }

  /// Logits of batch `index`, without a graph.
  at::Tensor logits(int64_t index = 0);
  /// The loss of batch `index`, with a graph (model/loss.h). `micro_batch` is 0.
  at::Tensor loss(int64_t index, at::Tensor* logits = nullptr);
  /// Both, and the gradients, which are taken off the parameters again.
  TrialPass pass(int64_t index = 0);
  TrialPass take_gradients();
  /// Every hook that a converter has, as after optimizer step `step`.
  void hook();
  /// pass(), a step down the gradient and the hooks.
  TrialPass train_step(int64_t index);
  /// Optimizer step that the next pass contributes to, 1-based.
  int64_t step = 1;
  /// Passes are second forwards of activation checkpointing: they change no state.
  bool repeat_forward = false;
  /// The loss is computed in float64 from the logits, whatever their type.
  bool wide_loss = false;

  /// The converters first, the model after them, as the trainer does; also what the destructor
  /// does.
  void destroy();
  /// Gives the model away, for a test that destroys it elsewhere.
  std::unique_ptr<model::Module> release_root() { return std::move(root_); }

 private:
  std::unique_ptr<model::Module> root_;
  std::unique_ptr<converters::ModelConvertersContainer> converters_;
};

/// Parameters, persistent buffers and their values under the names of files, copied.
std::map<std::string, at::Tensor> copy_of_state(model::Module& root);

/// What differs first, empty if nothing: the bits of every number count.
std::string difference(const TrialPass& a, const TrialPass& b);
std::string difference(const std::map<std::string, at::Tensor>& a,
                       const std::map<std::string, at::Tensor>& b);

}  // namespace titan::conformance
