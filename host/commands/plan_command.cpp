#include "commands/plan_command.h"

#include <iostream>

#include "base/error.h"
#include "commands/model_setup.h"
#include "commands/plugin_setup.h"
#include "converters/assumed_device.h"
#include "converters/plan.h"
#include "converters/plan_report.h"
#include "train/device.h"
#include "train/model_args.h"
#include "train/precision.h"

namespace titan::commands {

void plan(const ConfigArguments& arguments, const std::optional<std::string>& device, bool json) {
  if (!arguments.file)
    throw usage_error(
        "no config file was given", "titan plan",
        "titan plan configs/llama3_debug.yaml --model.converters=float8 [--device sm_90]");
  const model::TrainSpecRegistry specs = train_specs();
  config::LoadedConfig loaded = config::load_config(arguments.file, arguments.overrides);
  const model::TrainSpec& spec = specs.get(loaded.values.model.name);
  loaded = with_hf_sizes(with_default_converters(std::move(loaded), spec), spec);
  const config::Config& config = loaded.values;
  const model::ModelArgs args = train::resolve_model_args(spec, config);

  converters::PlanHeader header;
  header.config = arguments.file->string();
  header.model = config.model.name + " " + config.model.flavor;
  header.device = device ? converters::assumed_device(*device)
                         : train::resolve_device(config.training.device).facts;
  header.stock_flops_per_token = model::flops_per_token(args, config.training.seq_len);

  const AppliedConverters applied = load_converters(loaded, find_plugins(&loaded));
  converters::ModelConvertersContainer container(applied.registry, applied.requests, header.device,
                                                 train::run_facts(config.training));
  const auto root = spec.build(args, train::parameter_type(config.training));
  const converters::StockModel stock(*root);
  container.convert(*root);
  const converters::Plan plan = converters::make_plan(stock, container);
  std::cout << (json ? converters::plan_json(plan, header) : converters::plan_text(plan, header));
}

}  // namespace titan::commands
