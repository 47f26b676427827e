/// The models that can be trained: a registry that is filled at start and frozen before use.
#pragma once

#include <c10/core/ScalarType.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/flavors.h"
#include "model/hf_names.h"
#include "model/model_args.h"
#include "model/module.h"

namespace titan::model {

/// What the config.json of a Hugging Face folder says about every model of the family.
struct HfFamily {
  std::string model_type;    ///< "llama"
  std::string architecture;  ///< "LlamaForCausalLM"
  bool qk_norm = false;
  /// Where config.json says nothing. 0: hidden_size / num_attention_heads.
  int64_t default_head_dim = 0;
  int64_t default_max_positions = 2048;
};

/// Everything that the trainer needs to know about one model family.
struct TrainSpec {
  std::string name;  ///< model.name in the config
  std::vector<Flavor> flavors;
  /// The model on the meta device, its parameters of the given dtype.
  std::function<std::unique_ptr<Module>(const ModelArgs&, c10::ScalarType)> build;
  /// Names of converters that apply when the config has no model.converters.
  std::vector<std::string> default_converters;
  /// Its Hugging Face form; nothing, and an empty function, if there is no such form.
  std::optional<HfFamily> hf = std::nullopt;
  /// How its weights are called in Hugging Face files.
  std::function<std::unique_ptr<HfNaming>(const ModelArgs&)> hf_naming;

  /// Arguments of that flavor; a usage error with the nearest names if there is none.
  const ModelArgs& flavor(const std::string& flavor_name) const;
};

class TrainSpecRegistry {
 public:
  /// A usage error if the name is taken, a flavor is twice there, or the registry is frozen.
  void add(TrainSpec spec);
  void freeze() { frozen_ = true; }

  /// Throws an internal error before freeze(), a usage error with the nearest names if unknown.
  const TrainSpec& get(const std::string& name) const;
  std::vector<std::string> names() const;

 private:
  std::vector<TrainSpec> specs_;
  bool frozen_ = false;
};

/// "llama3": the flavors of llama3_flavors() as a Transformer.
TrainSpec llama3_train_spec();

/// "qwen3": the flavors of qwen3_flavors() as a Transformer.
TrainSpec qwen3_train_spec();

}  // namespace titan::model
