#include "commands/run_description.h"

#include "config/fields.h"
#include "config/option_text.h"
#include "observe/system_facts.h"
#include "titan/version.h"
#include "train/run_record.h"

namespace titan::commands {

observe::RunFile describe_run(const train::Trainer& trainer, const config::Config& config,
                              const std::vector<config::ConverterRequest>& requests,
                              const std::map<std::string, checkpoint::ConverterRecord>& plugins,
                              const std::string& peak) {
  observe::RunFile run;
  run.made_by = "titan " TITAN_SDK_VERSION ", LibTorch " TITAN_TORCH_VERSION;
  const bool cuda = trainer.device().device.is_cuda();
  const train::RunRecord record = train::make_run_record(config, requests, plugins, cuda);
  run.converters = record.converters;
  // The record has what a resumed run must agree on, converters' options among it; the rest is
  // added.
  run.config = record.settings;
  for (const config::Field& field : config::fields()) {
    const auto value = field.get(config);
    run.config[field.full_name()] = value ? config::to_yaml(*value) : "null";
  }
  run.notes = trainer.summary();
  for (const std::string& line : trainer.converters().summary())
    run.notes.push_back("converter " + line);
  run.notes.push_back(peak);
  run.parameters = trainer.parameter_count();
  run.flops_per_token = model::flops_per_token(trainer.model_args(), config.training.seq_len);
  run.device = trainer.device().facts.name;
  run.device_memory_bytes = trainer.device().facts.memory_bytes;
  const observe::SystemFacts system = observe::system_facts();
  run.system = system.operating_system + ", " + system.kernel + ", " + system.c_library;
  run.processors = system.processors;
  return run;
}

}  // namespace titan::commands
