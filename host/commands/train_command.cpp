#include "commands/train_command.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "base/error.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/progress.h"
#include "base/terminal.h"
#include "commands/environment.h"
#include "commands/plugin_setup.h"
#include "model/train_spec.h"
#include "observe/console.h"
#include "observe/memory.h"
#include "observe/metrics_writer.h"
#include "train/trainer.h"

namespace titan::commands {
namespace {

/// A spec may name converters of its own; they apply when the config lists none.
config::LoadedConfig with_default_converters(config::LoadedConfig config, const model::TrainSpec& spec) {
  if (config.values.model.converters.empty() && !config.origins.count("model.converters")) {
    for (const std::string& name : spec.default_converters) {
      config::ConverterItem item;
      item.use = item.as = name;
      item.settings.kind = config::Node::Kind::kMap;
      item.where = "default of model " + spec.name;
      config.values.model.converters.push_back(item);
    }
  }
  return config;
}

void log_start(const train::Trainer& trainer, const config::Config& config) {
  const converters::DeviceFacts& facts = trainer.device().facts;
  log_info("model " + config.model.name + " " + config.model.flavor + ": " + with_commas(trainer.parameter_count()) +
           " parameters, " + with_commas(model::flops_per_token(trainer.model_args(), config.training.seq_len)) +
           " FLOPs per token");
  log_info("device " + std::string(trainer.device().device.is_cuda() ? "cuda: " : "cpu: ") + facts.name + ", " +
           gib(facts.memory_bytes) + " memory");
  for (const std::string& line : trainer.summary()) log_info(line);
  for (const std::string& line : trainer.converters().summary()) log_info("converter " + line);
  if (trainer.converters().empty()) log_info("no converters are applied (model.converters is empty)");
}

/// The module tree after conversion, one line a module.
void print_model(model::Module& root) {
  std::string text = "model after conversion:";
  model::visit_modules(root, [&](model::Module& module) {
    text += "\n  " + (module.fqn().empty() ? "(root)" : module.fqn()) + ": " + module.kind();
    if (module.replaced()) text += " (replaced)";
  });
  log_info(text);
}

}  // namespace

void train(const ConfigArguments& arguments) {
  if (!arguments.file)
    throw usage_error("no config file was given", "titan train",
                      "titan train configs/llama3_debug.yaml [--section.key=value ...]");
  using Clock = std::chrono::steady_clock;

  model::TrainSpecRegistry specs;
  specs.add(model::llama3_train_spec());
  specs.freeze();
  config::LoadedConfig loaded = config::load_config(arguments.file, arguments.overrides);
  loaded = with_default_converters(std::move(loaded), specs.get(loaded.values.model.name));
  const config::Config& config = loaded.values;

  const plugins::Catalog catalog = find_plugins(&loaded);
  const AppliedConverters applied = load_converters(loaded, catalog);
  observe::MetricsWriter writer(config.job.dump_folder);
  train::Trainer trainer({config, applied.requests, train::resolve_device(config.training.device), data_folder()},
                         specs, applied.registry);
  log_start(trainer, config);
  if (config.model.print_after_conversion) print_model(trainer.model());

  const bool color = use_color(STDERR_FILENO) && !config.metrics.disable_color_printing;
  const auto flops = static_cast<double>(model::flops_per_token(trainer.model_args(), config.training.seq_len));
  Progress progress("train", trainer.total_steps(), STDERR_FILENO);
  Clock::time_point since = Clock::now();
  int64_t tokens_since = 0, tokens_seen = 0, epoch = trainer.dataset_epoch();
  double first_loss = 0, last_loss = 0;
  while (trainer.steps_done() < trainer.total_steps()) {
    const train::StepResult result = trainer.step();
    tokens_since += result.tokens;
    tokens_seen += result.tokens;
    if (result.step == 1) first_loss = result.loss;
    last_loss = result.loss;
    if (trainer.dataset_epoch() != epoch) {
      epoch = trainer.dataset_epoch();
      progress.clear();
      log_warning("dataset " + config.training.dataset + " is being re-looped (epoch " + std::to_string(epoch + 1) + ")");
    }
    const bool last = result.step == trainer.total_steps();
    if (result.step == 1 || last || result.step % config.metrics.log_freq == 0) {
      const double seconds = std::chrono::duration<double>(Clock::now() - since).count();
      observe::StepMetrics metrics;
      metrics.step = result.step;
      metrics.loss = result.loss;
      metrics.grad_norm = result.grad_norm;
      metrics.lr = result.lr;
      metrics.tps = seconds > 0 ? static_cast<double>(tokens_since) / seconds : 0;
      metrics.tflops = metrics.tps * flops / 1e12;
      metrics.n_tokens_seen = tokens_seen;
      metrics.memory_peak_bytes = observe::peak_resident_bytes();
      metrics.memory_total_bytes = trainer.device().device.is_cuda() ? 0 : trainer.device().facts.memory_bytes;
      metrics.converter_metrics = result.converter_metrics;
      writer.write(metrics);
      progress.clear();
      log_info(observe::console_line(metrics, color));
      since = Clock::now();
      tokens_since = 0;
    }
    progress.update(result.step);
  }
  progress.clear();
  char text[96];
  std::snprintf(text, sizeof text, "loss %.5f in step 1, %.5f in step %lld", first_loss, last_loss,
                static_cast<long long>(trainer.total_steps()));
  log_info("Training completed: " + std::string(text) + "; metrics in " + writer.path().string());
}

}  // namespace titan::commands
