#include "commands/estimate_command.h"

#include <iostream>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "commands/model_setup.h"
#include "commands/plugin_setup.h"
#include "converters/assumed_device.h"
#include "train/device.h"
#include "train/mfu_peak.h"

namespace titan::commands {
namespace {

/// The converter that the table of settings tries where it is found: fine-tuning that trains
/// little.
constexpr const char* kAdapter = "lora";

/// Converters have said what they have to say when the config itself was estimated.
class QuietLog {
 public:
  QuietLog() : level_(log_level()) { set_log_level(LogLevel::kError); }
  ~QuietLog() { set_log_level(level_); }
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;

 private:
  LogLevel level_;
};

/// Nothing if the config applies it already, or no plugin offers it.
std::optional<train::TriedKnob> try_adapter(config::LoadedConfig loaded,
                                            const plugins::Catalog& catalog,
                                            const model::TrainSpec& spec,
                                            const converters::DeviceFacts& device) {
  for (const config::ConverterItem& item : loaded.values.model.converters)
    if (item.use == kAdapter || item.as == kAdapter) return std::nullopt;
  if (catalog.find(kAdapter).empty()) return std::nullopt;
  config::ConverterItem item;
  item.use = item.as = kAdapter;
  item.settings.kind = config::Node::Kind::kMap;
  item.where = "titan estimate";
  loaded.values.model.converters.push_back(std::move(item));
  train::TriedKnob tried{"model.converters: " + std::string(kAdapter), {}, {}};
  try {
    const AppliedConverters applied = load_converters(loaded, catalog);
    tried.estimate =
        train::estimate_config(loaded.values, spec, applied.registry, applied.requests, device);
  } catch (const Error& error) {
    tried.problem = error.what();
  }
  return tried;
}

/// A setting may not go with the converters of this config.
train::TriedKnob try_knob(const train::Knob& knob, const AppliedConverters& applied,
                          const model::TrainSpec& spec, const converters::DeviceFacts& device) {
  train::TriedKnob tried{knob.text, {}, {}};
  try {
    tried.estimate =
        train::estimate_config(knob.config, spec, applied.registry, applied.requests, device);
  } catch (const Error& error) {
    tried.problem = error.what();
  }
  return tried;
}

}  // namespace

train::EstimateHeader estimate_header(const ConfigArguments& arguments,
                                      const config::Config& config,
                                      const converters::DeviceFacts& device,
                                      const AppliedConverters& applied) {
  train::EstimateHeader header;
  header.config = arguments.file->string();
  header.model = config.model.name + " " + config.model.flavor;
  header.device = device.name;
  if (device.memory_bytes) header.candidates = {{device.name, device.memory_bytes}};
  header.peak = train::mfu_peak(device, applied.registry, applied.requests);
  return header;
}

void estimate(const ConfigArguments& arguments, const std::optional<std::string>& device,
              bool json) {
  if (!arguments.file)
    throw usage_error(
        "no config file was given", "titan estimate",
        "titan estimate configs/llama3_debug.yaml [--device sm_90] [--section.key=value ...]");
  const model::TrainSpecRegistry specs = train_specs();
  config::LoadedConfig loaded = config::load_config(arguments.file, arguments.overrides);
  const model::TrainSpec& spec = specs.get(loaded.values.model.name);
  loaded = with_default_converters(std::move(loaded), spec);
  const config::Config& config = loaded.values;
  const bool elsewhere = device && *device != "cpu";
  const converters::DeviceFacts facts =
      elsewhere ? converters::assumed_device(*device)
                : train::resolve_device(device ? *device : config.training.device).facts;

  const plugins::Catalog catalog = find_plugins(&loaded);
  const AppliedConverters applied = load_converters(loaded, catalog);
  const train::StepEstimate estimated =
      train::estimate_config(config, spec, applied.registry, applied.requests, facts);
  train::EstimateHeader header = estimate_header(arguments, config, facts, applied);
  if (elsewhere) header.candidates = converters::example_devices(*device);

  std::vector<train::TriedKnob> knobs;
  const QuietLog quiet;
  for (const train::Knob& knob : train::memory_knobs(config))
    knobs.push_back(try_knob(knob, applied, spec, facts));
  if (auto adapter = try_adapter(loaded, catalog, spec, facts))
    knobs.push_back(std::move(*adapter));
  std::cout << (json ? train::estimate_json(estimated, header, knobs)
                     : train::estimate_text(estimated, header, knobs));
}

}  // namespace titan::commands
