#include "commands/train_command.h"

#include <signal.h>

#include <cstdio>

#include "base/error.h"
#include "base/log.h"
#include "base/numbers.h"
#include "checkpoint/step_folder.h"
#include "commands/dry_run.h"
#include "commands/environment.h"
#include "commands/model_setup.h"
#include "commands/plugin_setup.h"
#include "commands/resume_command.h"
#include "commands/run_description.h"
#include "commands/step_reports.h"
#include "config/mixture.h"
#include "observe/metrics_writer.h"
#include "observe/run_keeper.h"
#include "observe/step_profiler.h"
#include "observe/tensorboard_writer.h"
#include "train/checkpointer.h"
#include "train/mfu_peak.h"
#include "train/signals.h"
#include "train/trainer.h"

namespace titan::commands {
namespace {

void log_start(const train::Trainer& trainer) {
  const converters::DeviceFacts& facts = trainer.device().facts;
  log_info("device " + std::string(trainer.device().device.is_cuda() ? "cuda: " : "cpu: ") +
           facts.name + ", " + gib(facts.memory_bytes) + " memory");
  for (const std::string& line : trainer.summary()) log_info(line);
  for (const std::string& line : trainer.converters().summary()) log_info("converter " + line);
  if (trainer.converters().empty())
    log_info("no converters are applied (model.converters is empty)");
}

void make_paths_absolute(config::Config& config) {
  const auto absolute = [](std::string& path) {
    if (!path.empty()) path = std::filesystem::absolute(path).lexically_normal().string();
  };
  absolute(config.job.dump_folder);
  absolute(config.model.hf_assets_path);
  absolute(config.model.tokenizer_path);
  absolute(config.training.dataset_path);
  for (std::string& item : config.training.mixture) {
    std::vector<config::MixtureSource> source = config::parse_mixture({item}, "training.mixture");
    absolute(source.front().path);
    item = config::mixture_item(source.front());
  }
  absolute(config.validation.dataset_path);
  absolute(config.checkpoint.initial_load_path);
  absolute(config.checkpoint.adapter_load_path);
}

/// Whoever forgets checkpoint.enable begins anew where a run could go on.
void warn_of_unused_checkpoints(const config::Config& config) {
  const auto folder = std::filesystem::path(config.job.dump_folder) / config.checkpoint.folder;
  const auto steps = checkpoint::list_steps(folder);
  if (!steps.empty())
    log_warning(steps.back().path.string() +
                " is there, but checkpoints are not enabled: this run begins anew "
                "(checkpoint.enable: true resumes)");
}

/// The degrees of parallelism are known to `titan estimate` alone.
void require_one_device(const config::Config& config) {
  if (config.parallelism.devices() == 1) return;
  throw usage_error(
      "the config asks for " + std::to_string(config.parallelism.devices()) +
          " devices, this version of titan trains on one",
      "parallelism",
      "set both degrees of the section to 1; titan estimate shows what more devices would need");
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

/// load_converters(); the error for a plugin that is not there says where a checkpoint had it from.
AppliedConverters load_converters_of_run(const config::LoadedConfig& loaded,
                                         const plugins::Catalog& catalog) {
  try {
    return load_converters(loaded, catalog);
  } catch (const Error& error) {
    for (const std::string& name : config::requested_converters(loaded)) {
      if (!catalog.find(name).empty()) continue;
      const std::string origin = origin_in_checkpoint(loaded.values, name);
      if (!origin.empty())
        throw Error(error.status(), error.what(), error.where(), error.hint() + "; " + origin);
    }
    throw;
  }
}

observe::ProfileSchedule profile_schedule(const config::Profiling& profiling) {
  return {profiling.profile_freq, profiling.profiler_active, profiling.profiler_warmup};
}

std::string name_of_signal(int signal) {
  if (signal == SIGHUP) return "SIGHUP";
  return signal == SIGINT ? "SIGINT" : "SIGTERM";
}

/// Says how to go on: the command itself goes to standard output, alone on its line.
void report_stop(int signal, int64_t step, const config::Config& config,
                 const std::vector<std::string>& command_line) {
  const std::string stopped = "stopped by " + name_of_signal(signal) + " after step " +
                              std::to_string(step) + " of " + std::to_string(config.training.steps);
  if (!config.checkpoint.enable) {
    log_warning(stopped +
                "; nothing was saved, because checkpoints are not enabled "
                "(checkpoint.enable: true)");
  } else if (step == 0) {
    log_info(stopped + "; there is nothing to go on from yet");
  } else {
    log_info(stopped + "; the command that goes on with step " + std::to_string(step + 1) + ":");
    std::printf("%s\n", resume_command(command_line, config, step).c_str());
    std::fflush(stdout);
  }
}

/// Trains, saves and validates until all steps are done or a signal comes, and saves what there is.
/// Returns the signal; 0: all steps are done. `profiler`: null without profiling.
int run_steps(train::Trainer& trainer, train::Checkpointer& checkpointer, StepReports& reports,
              observe::StepProfiler* profiler, const train::SignalGuard& signals) {
  const auto take_snapshot = [&trainer](bool model_only) { return trainer.snapshot(model_only); };
  while (trainer.steps_done() < trainer.total_steps() && signals.received() == 0) {
    if (profiler) profiler->before_step(trainer.steps_done() + 1);
    const train::StepResult result = trainer.step();
    if (profiler && profiler->due(result.step)) reports.clear_line();
    if (profiler) profiler->after_step(result.step);
    reports.add(result);
    // Saved before it is validated: a signal or a time limit may come in between.
    if (checkpointer.due(result.step)) reports.clear_line();
    checkpointer.after_step(result.step, take_snapshot);
    const auto stopped = [&signals] { return signals.received() != 0; };
    if (const auto validation = trainer.validate_if_due(stopped)) reports.add(*validation);
    if (const auto samples = trainer.write_samples_if_due(stopped)) reports.add(*samples);
  }
  reports.clear_line();
  const bool done = trainer.steps_done() >= trainer.total_steps();
  if (done)
    checkpointer.finish();
  else if (reports.any())
    checkpointer.save_now(trainer.steps_done(), take_snapshot);
  // Last: a trace that cannot be written costs no step.
  if (profiler) profiler->finish(trainer.steps_done());
  return done ? 0 : signals.received();
}

}  // namespace

int train(const ConfigArguments& arguments, const std::vector<std::string>& command_line,
          bool dry) {
  if (!arguments.file)
    throw usage_error("no config file was given", "titan train",
                      "titan train configs/llama3_debug.yaml [--section.key=value ...]");

  observe::RunKeeper keeper;
  const model::TrainSpecRegistry specs = train_specs();
  config::LoadedConfig loaded = config::load_config(arguments.file, arguments.overrides);
  const model::TrainSpec& spec = specs.get(loaded.values.model.name);
  loaded = with_hf_sizes(with_default_converters(std::move(loaded), spec), spec);
  // Before any plugin is loaded: one that changes the working directory or the environment must not
  // change where the run reads and writes.
  make_paths_absolute(loaded.values);
  const std::filesystem::path data_dir = std::filesystem::absolute(data_folder());
  const config::Config& config = loaded.values;
  log_info("config " + arguments.file->string() + ": " + config.job.description);

  const plugins::Catalog catalog = find_plugins(&loaded);
  const AppliedConverters applied = load_converters_of_run(loaded, catalog);
  require_one_device(config);
  if (dry) {
    dry_run(arguments, config, specs, applied, data_dir);
    return 0;
  }
  observe::MetricsWriter writer(config.job.dump_folder);
  train::Checkpointer checkpointer(config);
  train::Trainer trainer({config, applied.requests, train::resolve_device(config.training.device),
                          data_dir, applied.plugins, checkpointer.find_resume()},
                         specs, applied.registry);
  writer.keep_until(trainer.steps_done());
  checkpointer.begin_after(trainer.steps_done());
  if (trainer.steps_done() >= trainer.total_steps())
    log_warning("nothing is left to train: step " + std::to_string(trainer.steps_done()) +
                " is done, training.steps is " + std::to_string(trainer.total_steps()));
  if (!config.checkpoint.enable && trainer.steps_done() == 0) warn_of_unused_checkpoints(config);
  log_start(trainer);
  const train::MfuPeak peak =
      train::mfu_peak(trainer.device().facts, applied.registry, applied.requests);
  log_info(peak.text);
  if (config.model.print_after_conversion) print_model(trainer.model());

  std::vector<observe::MetricsSink*> sinks = {&writer};
  std::optional<observe::TensorBoardWriter> tensorboard;
  if (config.metrics.enable_tensorboard) {
    tensorboard.emplace(
        std::filesystem::path(config.job.dump_folder) / config.metrics.save_tb_folder,
        trainer.steps_done());
    sinks.push_back(&*tensorboard);
    log_info("TensorBoard events in " + tensorboard->path().parent_path().string());
  }
  StepReports reports(trainer, config, peak.flops, std::move(sinks));
  std::optional<observe::StepProfiler> profiler;
  if (config.profiling.enable_profiling) {
    const config::Profiling& profiling = config.profiling;
    const auto folder =
        std::filesystem::path(config.job.dump_folder) / profiling.save_traces_folder;
    profiler.emplace(profile_schedule(profiling), folder, trainer.device().device.is_cuda());
    log_info("profiling: of every " + std::to_string(profiling.profile_freq) + " steps the last " +
             std::to_string(profiling.profiler_active) + " are recorded, after " +
             std::to_string(profiling.profiler_warmup) + " of warm-up; traces in " +
             folder.string());
  }
  keeper.begin(config.job.dump_folder,
               describe_run(trainer, config, applied.requests, applied.plugins, peak.text),
               trainer.steps_done());
  const train::SignalGuard signals;
  try {
    const int signal =
        run_steps(trainer, checkpointer, reports, profiler ? &*profiler : nullptr, signals);
    if (signal == 0) {
      log_info("Training completed: " + reports.summary() + "; metrics in " +
               writer.path().string());
      keeper.end(trainer.steps_done(), "completed");
      return 0;
    }
    report_stop(signal, trainer.steps_done(), config, command_line);
    keeper.end(trainer.steps_done(), "stopped by " + name_of_signal(signal));
    return 128 + signal;
  } catch (const std::exception& error) {
    keeper.end(trainer.steps_done(), std::string("failed: ") + error.what());
    throw;
  }
}

}  // namespace titan::commands
