#include "commands/dry_run.h"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <optional>
#include <system_error>

#include "base/error.h"
#include "base/numbers.h"
#include "base/os_error.h"
#include "base/table.h"
#include "checkpoint/step_folder.h"
#include "checkpoint/weight_files.h"
#include "commands/estimate_command.h"
#include "train/estimate.h"
#include "train/trainer.h"

namespace titan::commands {
namespace {

/// A run makes `folder` if it is not there, so the nearest one that is decides. Tried with a folder
/// that is gone at once: permissions alone do not tell of file systems that are read-only or
/// special.
void require_writable(const std::filesystem::path& folder, const std::string& key) {
  std::filesystem::path there = std::filesystem::absolute(folder).lexically_normal();
  std::error_code error;
  while (!std::filesystem::exists(there, error) && there.has_relative_path())
    there = there.parent_path();
  if (!std::filesystem::is_directory(there, error))
    throw environment_error(
        "'" + there.string() + "' is in the way of " + folder.string() + ": it is no folder", key,
        "choose another folder with " + key);
  std::string trial = (there / ".titan-dry-run-XXXXXX").string();
  if (mkdtemp(trial.data())) {
    rmdir(trial.c_str());
    return;
  }
  const int code = errno;
  throw environment_error(
      "cannot write in '" + there.string() + "' (" + std::generic_category().message(code) +
          "), and the run would write to " + folder.string(),
      key, cure_of_os_error(code, "change its permissions, or choose another folder with " + key));
}

std::filesystem::path checkpoint_folder(const config::Config& config) {
  return std::filesystem::path(config.job.dump_folder) / config.checkpoint.folder;
}

std::string weights_text(const std::string& path) {
  const checkpoint::WeightFiles files(path);
  return path + " (" + with_commas(static_cast<int64_t>(files.names().size())) + " tensors)";
}

std::string start_text(const config::Config& config,
                       const std::optional<checkpoint::StepFolder>& resume) {
  const config::Checkpoint& checkpoint = config.checkpoint;
  if (resume) return "resumes from " + resume->path.string();
  std::string text = "fresh weights, seed " + std::to_string(config.training.seed);
  if (!checkpoint.initial_load_path.empty())
    text = "weights from " + weights_text(checkpoint.initial_load_path);
  if (!checkpoint.adapter_load_path.empty())
    text += ", and what converters added from " + weights_text(checkpoint.adapter_load_path);
  return text;
}

std::string data_text(const config::Config& config) {
  const config::Training& training = config.training;
  return training.dataset + (training.dataset_path.empty() ? "" : " in " + training.dataset_path) +
         ", sequences of " + with_commas(training.seq_len) + " tokens";
}

std::string checkpoint_text(const config::Config& config) {
  if (!config.checkpoint.enable) return "none (checkpoint.enable: false)";
  return checkpoint_folder(config).string() + ", every " + with_commas(config.checkpoint.interval) +
         " steps and at the end";
}

/// "1.20 GiB parameters, 1.20 GiB gradients, 2.40 GiB optimizer state, 0.80 GiB activations"
std::string parts_text(const train::MemoryParts& states) {
  return train::memory_text(states.parameters) + " parameters, " +
         train::memory_text(states.gradients) + " gradients, " +
         train::memory_text(states.optimizer) + " optimizer state, " +
         train::memory_text(states.activations) + " activations kept for backward" +
         (states.converters ? ", " + train::memory_text(states.converters) + " of converters" : "");
}

}  // namespace

void dry_run(const ConfigArguments& arguments, const config::Config& config,
             const model::TrainSpecRegistry& specs, const AppliedConverters& applied,
             const std::filesystem::path& data_dir) {
  require_writable(config.job.dump_folder, "job.dump_folder");
  if (config.checkpoint.enable) require_writable(checkpoint_folder(config), "checkpoint.folder");
  const std::filesystem::path dump = config.job.dump_folder;
  if (config.metrics.enable_tensorboard)
    require_writable(dump / config.metrics.save_tb_folder, "metrics.save_tb_folder");
  if (config.profiling.enable_profiling)
    require_writable(dump / config.profiling.save_traces_folder, "profiling.save_traces_folder");
  const auto resume =
      config.checkpoint.enable
          ? checkpoint::choose_step(checkpoint_folder(config), config.checkpoint.load_step)
          : std::nullopt;
  const std::string start = start_text(config, resume);
  train::TrainerOptions options{
      config,   applied.requests, train::resolve_device(config.training.device),
      data_dir, applied.plugins,  resume};
  options.dry_run = true;
  train::Trainer trainer(std::move(options), specs, applied.registry);
  const converters::DeviceFacts& device = trainer.device().facts;
  const train::StepEstimate estimate =
      train::estimate_step(trainer.model(), trainer.model_args(), config, trainer.converters());
  const train::EstimateHeader header = estimate_header(arguments, config, device, applied);

  Table table;
  table.add_row({"config", header.config + ": " + config.job.description});
  table.add_row({"model", header.model + ": " + with_commas(estimate.parameters) + " parameters, " +
                              with_commas(estimate.trainable) + " trained"});
  for (const std::string& line : trainer.converters().summary()) table.add_row({"converter", line});
  if (trainer.converters().empty())
    table.add_row({"converters", "none (model.converters is empty)"});
  table.add_row({"device", (trainer.device().device.is_cuda() ? "cuda: " : "cpu: ") + device.name});
  for (const std::string& line : trainer.summary()) table.add_row({"", line});
  table.add_row({"memory", "peak " + train::memory_text(estimate.peak.total()) + ": " +
                               train::fit_text(estimate, header)});
  table.add_row({"", parts_text(estimate.states)});
  table.add_row(
      {"steps", with_commas(config.training.steps) + " of " + with_commas(estimate.tokens) +
                    " tokens (" + with_commas(estimate.micro_batches) +
                    (estimate.micro_batches == 1 ? " micro-batch of " : " micro-batches of ") +
                    with_commas(config.training.local_batch_size) + " sequences)"});
  table.add_row({"data", data_text(config)});
  if (config.validation.enable)
    table.add_row(
        {"validation", "after step 1 and every " + with_commas(config.validation.freq) + " steps"});
  if (config.samples.enable)
    table.add_row(
        {"samples", "after step 1 and every " + with_commas(config.samples.freq) + " steps"});
  table.add_row({"start", start});
  table.add_row({"outputs", config.job.dump_folder});
  table.add_row({"checkpoints", checkpoint_text(config)});
  std::cout << table.render() << "dry run: nothing was trained and no file written\n";
}

}  // namespace titan::commands
