#include "conformance/training_run.h"

#include <ATen/Functions.h>

#include <fstream>

#include "base/error.h"
#include "checkpoint/save_checkpoint.h"
#include "checkpoint/step_folder.h"
#include "conformance/trial_model.h"

namespace titan::conformance {
namespace {

constexpr int64_t kRunBatch = 2;

/// Token ids of no particular pattern, below the vocabulary.
std::filesystem::path token_file(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "tokens.bin";
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  uint32_t state = 12345;
  for (int i = 0; i < 4096; ++i) {
    state = state * 1664525u + 1013904223u;
    const uint32_t token = (state >> 16) % kTrialVocabulary;
    file.put(static_cast<char>(token)).put('\0');
  }
  file.close();
  if (!file)
    throw environment_error("the data of the test runs could not be written", path.string(),
                            "free space there, or set TMPDIR to another folder");
  return path;
}

config::Config run_config(const Subject& subject, const RunOptions& options) {
  const model::ModelArgs sizes = trial_model_args(2);
  config::Config config;
  config.job.dump_folder = subject.scratch.string();
  config.model.args.dim = sizes.dim;
  config.model.args.n_layers = sizes.n_layers;
  config.model.args.n_heads = sizes.n_heads;
  config.model.args.n_kv_heads = sizes.n_kv_heads;
  config.model.args.vocab_size = sizes.vocab_size;
  config.model.args.multiple_of = sizes.multiple_of;
  config.training.dataset = "tokens";
  config.training.dataset_path = token_file(subject.scratch).string();
  config.training.local_batch_size = kRunBatch;
  config.training.global_batch_size = kRunBatch * options.micro_batches;
  config.training.seq_len = kTrialLength;
  config.training.dtype = options.parameter_type;
  config.training.mixed_precision_param = options.compute_type;
  config.training.steps = 8;
  config.training.seed = static_cast<int64_t>(subject.seed % 1000);
  config.training.device = "cpu";
  config.optimizer.lr = 1e-2;  // steps that can be seen
  config.lr_scheduler.warmup_steps = 1;
  config.activation_checkpoint.mode = options.activation_checkpoint;
  return config;
}

}  // namespace

TrainingRun::TrainingRun(const Subject& subject, const converters::Registry& registry,
                         const RunOptions& options) {
  specs_.add(model::llama3_train_spec());
  specs_.freeze();
  train::TrainerOptions trainer{
      run_config(subject, options), {subject.request()}, train::resolve_device("cpu"), {}};
  checkpoint::ConverterRecord origin;
  origin.converter = subject.converter.name;
  if (subject.judged.description) origin.plugin = subject.judged.description->name;
  origin.file = subject.judged.path.string();
  origin.sha256 = subject.judged.sha256;
  trainer.plugins[subject.converter.name] = origin;
  if (!options.resume_from.empty())
    trainer.resume = checkpoint::choose_step(options.resume_from, -1);
  trainer_ = std::make_unique<train::Trainer>(std::move(trainer), specs_, registry);
}

void TrainingRun::step(int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const train::StepResult result = trainer_->step();
    numbers_["loss of step " + std::to_string(result.step)] =
        at::scalar_tensor(result.loss, at::kDouble);
    numbers_["gradient norm of step " + std::to_string(result.step)] =
        at::scalar_tensor(result.grad_norm, at::kDouble);
  }
}

void TrainingRun::save(const std::filesystem::path& root) {
  checkpoint::save_checkpoint(root, trainer_->snapshot(/*model_only=*/false));
}

std::map<std::string, at::Tensor> TrainingRun::record() {
  std::map<std::string, at::Tensor> record = numbers_;
  const checkpoint::Snapshot snapshot = trainer_->snapshot(/*model_only=*/false);
  for (const auto& [name, tensor] : snapshot.model) record[name] = tensor.detach().clone();
  for (const auto& [name, tensor] : snapshot.optimizer)
    record["optimizer state " + name] = tensor.detach().clone();
  return record;
}

}  // namespace titan::conformance
