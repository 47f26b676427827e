#include "commands/model_setup.h"

#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/text_list.h"
#include "checkpoint/hf_config.h"
#include "checkpoint/weight_files.h"
#include "config/fields.h"
#include "config/option_text.h"
#include "config/yaml_reader.h"
#include "train/model_args.h"

namespace titan::commands {

model::TrainSpecRegistry train_specs() {
  model::TrainSpecRegistry specs;
  specs.add(model::llama3_train_spec());
  specs.add(model::qwen3_train_spec());
  specs.freeze();
  return specs;
}

const model::TrainSpec& spec_of_hf_config(const model::TrainSpecRegistry& specs,
                                          const std::filesystem::path& config) {
  const std::string type = checkpoint::hf_model_type(config);
  std::vector<std::string> known;
  for (const std::string& name : specs.names()) {
    const model::TrainSpec& spec = specs.get(name);
    if (!spec.hf) continue;
    if (spec.hf->model_type == type) return spec;
    known.push_back(spec.hf->model_type);
  }
  throw data_error(type.empty() ? "it has no model_type, so it is no config of a Hugging Face model"
                                : "model_type is '" + type + "', which no family here has",
                   config.string(), "known are " + joined(known));
}

void check_hf_args(const model::ModelArgs& args, const std::filesystem::path& folder) {
  const std::string where = (folder / checkpoint::kHfConfigFile).string();
  config::Config given, checked;
  given.model.args = train::config_args(args);
  for (const config::Field& field : config::fields()) {
    if (field.section != "model.args") continue;
    const auto value = field.get(given);
    if (!value) continue;
    try {
      config::set_field(checked, field, config::read_yaml(config::to_yaml(*value), where));
    } catch (const Error& error) {
      throw data_error(error.what(), where,
                       "take a config.json whose sizes titan knows; " + error.hint());
    }
  }
  if (!checkpoint::holds_weights(folder)) return;
  const auto tensors = static_cast<int64_t>(checkpoint::WeightFiles(folder).names().size());
  if (args.n_layers > tensors)
    throw data_error("it has " + with_commas(args.n_layers) +
                         " layers (num_hidden_layers), the weight files " + with_commas(tensors) +
                         " tensors",
                     where, "take config.json and weights from the same model");
}

config::LoadedConfig with_hf_sizes(config::LoadedConfig config, const model::TrainSpec& spec) {
  config::Model& model = config.values.model;
  const std::string& weights = config.values.checkpoint.initial_load_path;
  if (model.flavor != train::kFlavorFromHf) {
    if (!model.hf_assets_path.empty())
      throw usage_error(
          "model.hf_assets_path has no effect: the sizes are those of model.flavor (" +
              model.flavor + ")",
          "model.hf_assets_path", "set model.flavor: from_hf, or leave the key out");
    return config;
  }
  if (model.hf_assets_path.empty() && weights.empty())
    throw usage_error("model.flavor is from_hf, but no Hugging Face folder is named",
                      "model.flavor",
                      "set model.hf_assets_path (or checkpoint.initial_load_path) to a folder that "
                      "holds a config.json");
  // From here on it has one name, also in what a checkpoint records.
  if (model.hf_assets_path.empty()) model.hf_assets_path = weights;
  const std::filesystem::path folder = model.hf_assets_path;
  const std::filesystem::path file = folder / checkpoint::kHfConfigFile;
  // The same object with every key of the file; what the config gives itself stays.
  config::Config from_file;
  const model::ModelArgs args = checkpoint::read_hf_config(file, spec);
  check_hf_args(args, folder);
  from_file.model.args = train::config_args(args);
  for (const config::Field& field : config::fields()) {
    if (field.section != "model.args") continue;
    const auto given = field.get(config.values), found = field.get(from_file);
    if (given && found && *given != *found)
      log_info(field.full_name() + " is " + config::to_yaml(*given) + " instead of the " +
               config::to_yaml(*found) + " of " + file.string());
    const bool width_is_given = field.option.name == "hidden_dim" &&
                                (model.args.ffn_dim_multiplier || model.args.multiple_of);
    if (!given && found && !width_is_given) field.set(config.values, found);
  }
  return config;
}

config::LoadedConfig with_default_converters(config::LoadedConfig config,
                                             const model::TrainSpec& spec) {
  if (!config.values.model.converters.empty() || config.origins.count("model.converters"))
    return config;
  for (const std::string& name : spec.default_converters) {
    config::ConverterItem item;
    item.use = item.as = name;
    item.settings.kind = config::Node::Kind::kMap;
    item.where = "default of model " + spec.name;
    config.values.model.converters.push_back(item);
  }
  return config;
}

}  // namespace titan::commands
