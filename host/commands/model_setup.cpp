#include "commands/model_setup.h"

#include <utility>

namespace titan::commands {

model::TrainSpecRegistry train_specs() {
  model::TrainSpecRegistry specs;
  specs.add(model::llama3_train_spec());
  specs.freeze();
  return specs;
}

config::LoadedConfig with_default_converters(config::LoadedConfig config, const model::TrainSpec& spec) {
  if (!config.values.model.converters.empty() || config.origins.count("model.converters")) return config;
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
