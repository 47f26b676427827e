#include "commands/weight_source.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text_list.h"
#include "checkpoint/hf_config.h"
#include "checkpoint/load_weights.h"
#include "checkpoint/manifest.h"
#include "checkpoint/step_folder.h"
#include "checkpoint/weight_files.h"
#include "commands/model_setup.h"
#include "commands/recorded_config.h"
#include "config/option_text.h"

namespace titan::commands {
namespace fs = std::filesystem;

namespace {

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

bool holds_adapters_alone(const fs::path& step) {
  const checkpoint::WeightFiles files(step);
  return !files.names().empty() &&
         std::all_of(files.names().begin(), files.names().end(),
                     [](const auto& name) { return checkpoint::is_added_name(name); });
}

/// Names the weights in the config; those of converters alone sit on the config's own.
void use_step(WeightSource& source, const fs::path& step, const checkpoint::Manifest& manifest) {
  config::Checkpoint& places = source.config.values.checkpoint;
  source.step = manifest.position.step;
  if (!holds_adapters_alone(step)) {
    places.initial_load_path = step.string();
    places.adapter_load_path.clear();
    return;
  }
  if (places.initial_load_path.empty())
    throw usage_error(
        "'" + step.string() +
            "' holds what converters added and no more: the weights below it are elsewhere",
        "checkpoint.initial_load_path",
        "name the folder or file that the run began with: --checkpoint.initial_load_path=FOLDER");
  places.adapter_load_path = step.string();
}

WeightSource of_step(const fs::path& step, const std::vector<std::string>& overrides) {
  const checkpoint::Manifest manifest = checkpoint::read_manifest(step);
  WeightSource source;
  source.config = recorded_config(manifest, step, overrides);
  const int64_t asked = source.config.values.checkpoint.load_step;
  if (asked != -1 && asked != manifest.position.step)
    throw usage_error("the step is given by the folder, " + step.string(), "checkpoint.load_step",
                      "name the step itself: " +
                          (step.parent_path() / checkpoint::step_folder_name(asked)).string());
  use_step(source, step, manifest);
  return source;
}

/// `steps`: whether steps of the config's run go before its initial weights.
WeightSource of_config(const fs::path& file, const std::vector<std::string>& overrides,
                       const model::TrainSpecRegistry& specs, bool steps) {
  WeightSource source;
  source.config = config::load_config(file, overrides);
  const model::TrainSpec& spec = specs.get(source.config.values.model.name);
  source.config = with_hf_sizes(with_default_converters(std::move(source.config), spec), spec);
  const config::Config& config = source.config.values;
  const fs::path root = fs::path(config.job.dump_folder) / config.checkpoint.folder;
  if (const auto step =
          steps ? checkpoint::choose_step(root, config.checkpoint.load_step) : std::nullopt)
    use_step(source, step->path, checkpoint::read_manifest(step->path));
  else
    source.hugging_face = config.model.flavor == "from_hf";
  if (config.checkpoint.initial_load_path.empty())
    throw data_error("there are no trained weights: no step in " + root.string() +
                         ", and checkpoint.initial_load_path is not set",
                     file.string(),
                     "train first with checkpoint.enable: true, or name weights with "
                     "--checkpoint.initial_load_path=FOLDER");
  return source;
}

WeightSource of_hf_folder(const fs::path& folder, const std::vector<std::string>& overrides,
                          const model::TrainSpecRegistry& specs) {
  const model::TrainSpec& spec = spec_of_hf_config(specs, folder / checkpoint::kHfConfigFile);
  const std::string path = config::to_yaml_quoted(fs::absolute(folder).lexically_normal().string());
  WeightSource source;
  source.config = config::load_config_text("model:\n  name: " + spec.name +
                                               "\n  flavor: from_hf\n  hf_assets_path: " + path +
                                               "\ncheckpoint:\n  initial_load_path: " + path + "\n",
                                           folder.string(), overrides);
  source.config = with_hf_sizes(std::move(source.config), spec);
  source.hugging_face = true;
  return source;
}

}  // namespace

fs::path latest_step(const fs::path& given) {
  if (is_there(given / checkpoint::kManifestFile)) return given;
  for (const fs::path& root : {given / "checkpoint", given})
    if (const auto step = checkpoint::choose_step(root, -1)) return step->path;
  return given;
}

WeightSource find_weights(const fs::path& given, const std::vector<std::string>& overrides,
                          const model::TrainSpecRegistry& specs) {
  std::error_code error;
  if (given.extension() == ".safetensors")
    throw usage_error(
        "'" + given.string() + "' is a file of weights, which does not say what model it is",
        given.string(), "name the folder that it is in");
  if (!is_there(given))
    throw data_error("'" + given.string() + "' is not there", given.string(),
                     "name a step of a run (RUN/checkpoint/step-N), a run's folder, a config, or a "
                     "Hugging Face folder");
  if (!fs::is_directory(given, error)) return of_config(given, overrides, specs, true);
  if (is_there(given / checkpoint::kManifestFile)) return of_step(given, overrides);
  if (is_there(given / "config.yaml") && is_there(given / checkpoint::kModelFile))
    return of_config(given / "config.yaml", overrides, specs, false);
  if (is_there(given / checkpoint::kHfConfigFile)) return of_hf_folder(given, overrides, specs);
  if (const fs::path step = latest_step(given); step != given) return of_step(step, overrides);
  throw data_error("'" + given.string() +
                       "' holds no model: neither steps of a run nor a Hugging Face config.json",
                   given.string(),
                   "name a step of a run (RUN/checkpoint/step-N), a run's folder, a config, or a "
                   "Hugging Face folder");
}

}  // namespace titan::commands
