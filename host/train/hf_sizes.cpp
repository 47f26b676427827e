#include "train/hf_sizes.h"

#include <set>
#include <string>
#include <system_error>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/hf_config.h"
#include "config/fields.h"

namespace titan::train {
namespace {

/// Keys of model.args that the config sets.
std::set<std::string> given_keys(const config::ModelArgs& given) {
  config::Config config;
  config.model.args = given;
  std::set<std::string> keys;
  for (const config::Field& field : config::fields())
    if (field.section == "model.args" && field.get(config)) keys.insert(field.option.name);
  return keys;
}

}  // namespace

void check_hf_sizes(const std::filesystem::path& file_or_folder, const model::TrainSpec& spec,
                    const model::ModelArgs& args, const config::ModelArgs& given) {
  const std::filesystem::path file = file_or_folder / checkpoint::kHfConfigFile;
  std::error_code error;
  if (!spec.hf || !std::filesystem::exists(file, error) || checkpoint::hf_model_type(file).empty())
    return;
  const auto theirs = model::effective_args(checkpoint::read_hf_config(file, spec));
  const auto ours = model::effective_args(args);
  const auto value = [](const std::map<std::string, std::string>& values, const std::string& key) {
    const auto found = values.find(key);
    return found == values.end() ? std::string("not used") : found->second;
  };
  const std::set<std::string> wanted = given_keys(given);
  std::set<std::string> keys;
  for (const auto* side : {&theirs, &ours})
    for (const auto& [key, text] : *side) keys.insert(key);
  std::string refused;
  for (const std::string& key : keys) {
    const std::string there = value(theirs, key), here = value(ours, key);
    if (there == here) continue;
    const std::string line =
        key + ": " + there + " in " + file.string() + ", " + here + " in this model";
    if (wanted.count(key))
      log_warning("the weights were made for another model.args." + line);
    else
      refused += "\n    " + line;
  }
  if (!refused.empty())
    throw data_error("the weights were made for another model:" + refused, file.string(),
                     "set model.flavor: from_hf to take the sizes from there, or state what is "
                     "meant to differ in model.args");
}

}  // namespace titan::train
