#include "commands/recorded_config.h"

#include <set>

#include "base/error.h"
#include "config/fields.h"
#include "config/option_text.h"

namespace titan::commands {
namespace {

/// Keys of section training that say how the model computes, not how it is trained.
const std::set<std::string>& kept_training_keys() {
  static const std::set<std::string> keys = {"training.dtype", "training.mixed_precision_param",
                                             "training.seed", "training.add_bos"};
  return keys;
}

/// The settings of one converter, "NAME.key", as the entries of a YAML map in one line.
std::string converter_entry(const checkpoint::ConverterRecord& record,
                            const std::map<std::string, std::string>& settings) {
  std::string text = "{use: " + config::to_yaml_quoted(record.converter) +
                     ", as: " + config::to_yaml_quoted(record.instance);
  const std::string prefix = record.instance + ".";
  for (auto at = settings.lower_bound(prefix);
       at != settings.end() && at->first.starts_with(prefix); ++at)
    text += ", " + at->first.substr(prefix.size()) + ": " + at->second;
  return text + "}";
}

}  // namespace

config::LoadedConfig recorded_config(const checkpoint::Manifest& manifest,
                                     const std::filesystem::path& step,
                                     const std::vector<std::string>& overrides) {
  std::string model = "model:\n", args, training;
  for (const auto& [name, value] : manifest.settings) {
    const size_t dot = name.rfind('.');
    const bool of_model = name.starts_with("model.");
    if (!of_model && !kept_training_keys().count(name)) continue;
    if (!config::find_field(name.substr(0, dot), name.substr(dot + 1)))
      throw data_error("the run was made with the key " + name + ", which this titan does not know",
                       step.string(), "use the titan that made it: " + manifest.made_by);
    const std::string line = name.substr(dot + 1) + ": " + value + "\n";
    if (name.starts_with("model.args."))
      args += "    " + line;
    else
      (of_model ? model : training) += "  " + line;
  }
  if (!args.empty()) model += "  args:\n" + args;
  if (!manifest.converters.empty()) model += "  converters:\n";
  for (const checkpoint::ConverterRecord& record : manifest.converters)
    model += "    - " + converter_entry(record, manifest.settings) + "\n";
  const std::string text = model + (training.empty() ? "" : "training:\n" + training);
  return config::load_config_text(text, (step / checkpoint::kManifestFile).string(), overrides);
}

}  // namespace titan::commands
