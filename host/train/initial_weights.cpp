#include "train/initial_weights.h"

#include <memory>
#include <optional>
#include <vector>

#include "base/log.h"
#include "checkpoint/load_weights.h"
#include "checkpoint/manifest.h"
#include "train/hf_sizes.h"

namespace titan::train {
namespace {

/// "'a', 'b', 'c' and 12 more".
std::string first_names(const std::vector<std::string>& names) {
  constexpr size_t kShown = 3;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kShown; ++i)
    text += (i ? ", '" : "'") + names[i] + "'";
  return text +
         (names.size() > kShown ? " and " + std::to_string(names.size() - kShown) + " more" : "");
}

checkpoint::HfNameMap hf_names(const model::TrainSpec& spec, const model::ModelArgs& args) {
  checkpoint::HfNameMap names;
  const std::shared_ptr<model::HfNaming> naming = spec.hf_naming(args);
  names.native_name = [naming](const std::string& name) { return naming->to_native(name); };
  names.to_native = [naming](const std::string& name, const at::Tensor& value) {
    return naming->value_to_native(name, value);
  };
  return names;
}

checkpoint::LoadReport load_base(model::Module& root, const model::TrainSpec& spec,
                                 const model::ModelArgs& args, const std::string& path) {
  if (!spec.hf_naming) return checkpoint::load_weights(root, path);
  const checkpoint::HfNameMap names = hf_names(spec, args);
  return checkpoint::load_weights(root, path, &names);
}

void load_adapter(model::Module& root, const std::string& adapter) {
  checkpoint::verify_weights(adapter);
  const checkpoint::LoadReport added = checkpoint::load_added(root, adapter);
  log_info((added.copied ? "loaded what converters added from " : "what converters added fits: ") +
           adapter);
  if (!added.unused_added.empty())
    log_warning("the adapter has " + first_names(added.unused_added) +
                ", which no applied converter uses");
}

}  // namespace

InitialWeights load_initial_weights(model::Module& root, const model::TrainSpec& spec,
                                    const model::ModelArgs& args, const config::Config& config) {
  const std::string& path = config.checkpoint.initial_load_path;
  const std::string& adapter = config.checkpoint.adapter_load_path;
  InitialWeights weights;
  weights.loaded = !path.empty() || !adapter.empty();
  if (!path.empty()) {
    const std::optional<checkpoint::Manifest> manifest = checkpoint::verify_weights(path);
    check_hf_sizes(path, spec, args, config.model.args);
    const checkpoint::LoadReport report = load_base(root, spec, args, path);
    log_info((report.copied ? "loaded weights from " : "the weights fit: ") + path +
             (report.hugging_face ? " (Hugging Face names)" : ""));
    if (adapter.empty() && !report.missing_added.empty())
      log_info("the checkpoint has no " + first_names(report.missing_added) +
               ": initial values are kept");
    for (const std::string& name : report.unused_added)
      log_warning("the checkpoint has '" + name + "', which no applied converter uses" +
                  (manifest ? "; it is of the converter " + manifest->owner_of(name) : ""));
    // An adapter holds all that converters added.
    if (adapter.empty())
      weights.missing = {report.missing_added.begin(), report.missing_added.end()};
  }
  if (!adapter.empty()) load_adapter(root, adapter);
  return weights;
}

void put_back_initial_weights(model::Module& root, const model::TrainSpec& spec,
                              const model::ModelArgs& args, const config::Config& config) {
  const config::Checkpoint& places = config.checkpoint;
  if (!places.initial_load_path.empty()) load_base(root, spec, args, places.initial_load_path);
  if (!places.adapter_load_path.empty()) checkpoint::load_added(root, places.adapter_load_path);
}

}  // namespace titan::train
