#include "model/train_spec.h"

#include <set>
#include <utility>

#include "base/error.h"
#include "base/suggest.h"
#include "base/text_list.h"
#include "model/transformer.h"

namespace titan::model {
namespace {

std::string comma_list(const std::vector<std::string>& names) {
  return names.empty() ? "none" : joined(names);
}

}  // namespace

const ModelArgs& TrainSpec::flavor(const std::string& flavor_name) const {
  std::vector<std::string> known;
  for (const Flavor& candidate : flavors) {
    if (candidate.name == flavor_name) return candidate.args;
    known.push_back(candidate.name);
  }
  throw usage_error("model '" + name + "' has no flavor '" + flavor_name + "'", "model.flavor",
                    did_you_mean(flavor_name, known) + "flavors: " + comma_list(known));
}

void TrainSpecRegistry::add(TrainSpec spec) {
  const std::string where = "train spec '" + spec.name + "'";
  if (frozen_)
    throw usage_error("a model is registered after the registry was frozen", where,
                      "register it before the config is read");
  if (spec.name.empty() || !spec.build)
    throw usage_error("a train spec needs a name and a build function", where,
                      "give both before registering it");
  std::set<std::string> flavors;
  for (const Flavor& flavor : spec.flavors)
    if (!flavors.insert(flavor.name).second)
      throw usage_error("the flavor '" + flavor.name + "' is there twice", where,
                        "give each flavor a name of its own");
  for (const TrainSpec& other : specs_)
    if (other.name == spec.name)
      throw usage_error("a model of that name is registered already", where,
                        "choose another name; registered models are never replaced");
  specs_.push_back(std::move(spec));
}

const TrainSpec& TrainSpecRegistry::get(const std::string& name) const {
  if (!frozen_) throw internal_error("the registry is used before it is frozen", "train specs");
  for (const TrainSpec& spec : specs_)
    if (spec.name == name) return spec;
  throw usage_error("no model is named '" + name + "'", "model.name",
                    did_you_mean(name, names()) + "models: " + comma_list(names()));
}

std::vector<std::string> TrainSpecRegistry::names() const {
  std::vector<std::string> result;
  for (const TrainSpec& spec : specs_) result.push_back(spec.name);
  return result;
}

namespace {

TrainSpec transformer_spec(std::string name, std::vector<Flavor> flavors, HfFamily hf) {
  TrainSpec spec;
  spec.name = std::move(name);
  spec.flavors = std::move(flavors);
  spec.hf = std::move(hf);
  spec.build = [](const ModelArgs& args, c10::ScalarType dtype) -> std::unique_ptr<Module> {
    return std::make_unique<Transformer>(args, dtype);
  };
  spec.hf_naming = [](const ModelArgs& args) -> std::unique_ptr<HfNaming> {
    return std::make_unique<LlamaHfNaming>(args);
  };
  return spec;
}

}  // namespace

TrainSpec llama3_train_spec() {
  return transformer_spec("llama3", llama3_flavors(),
                          {.model_type = "llama", .architecture = "LlamaForCausalLM"});
}

TrainSpec qwen3_train_spec() {
  return transformer_spec("qwen3", qwen3_flavors(),
                          {.model_type = "qwen3",
                           .architecture = "Qwen3ForCausalLM",
                           .qk_norm = true,
                           .default_head_dim = 128,
                           .default_max_positions = 32768});
}

}  // namespace titan::model
