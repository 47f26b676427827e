#include "train/validator.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <chrono>
#include <cmath>
#include <string>

#include "base/error.h"
#include "model/random_scope.h"
#include "model/training_loss.h"
#include "train/batch_tensors.h"
#include "train/data_options.h"

namespace titan::train {
namespace {

/// Datasets speak of the keys of section training.
std::string with_validation_keys(std::string text) {
  for (const char* key : {"dataset", "seq_len", "local_batch_size"}) {
    const std::string from = std::string("training.") + key, to = std::string("validation.") + key;
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  }
  return text;
}

std::unique_ptr<data::Loader> open_samples(const config::Config& config, int64_t vocab_size,
                                           const std::filesystem::path& data_dir) {
  try {
    return data::make_loader(validation_data(config, vocab_size, data_dir));
  } catch (const Error& error) {
    throw Error(error.status(), "validation: " + with_validation_keys(error.what()),
                with_validation_keys(error.where()), with_validation_keys(error.hint()));
  }
}

}  // namespace

Validator::Validator(const config::Config& config, int64_t vocab_size,
                     const std::filesystem::path& data_dir)
    : freq_(config.validation.freq),
      batch_size_(config.validation.local_batch_size),
      steps_(config.validation.steps),
      samples_(open_samples(config, vocab_size, data_dir)),
      start_(samples_->state()) {}

data::Batch Validator::next_batch(int64_t index) {
  data::Batch batch;
  if (steps_ >= 0 && index >= steps_) return batch;
  while (batch.batch < batch_size_) {
    const data::Batch sample = samples_->next();
    // All data once: a sample that meets the end would go on at the beginning.
    if (steps_ < 0 && samples_->epoch() > start_.position.epoch) break;
    batch.seq = sample.seq;
    batch.tokens.insert(batch.tokens.end(), sample.tokens.begin(), sample.tokens.end());
    batch.labels.insert(batch.labels.end(), sample.labels.begin(), sample.labels.end());
    ++batch.batch;
  }
  return batch;
}

std::optional<ValidationResult> Validator::run(model::Module& root, model::CallContext context,
                                               at::Device device,
                                               const std::function<bool()>& stopped) {
  const auto begin = std::chrono::steady_clock::now();
  const at::NoGradGuard no_grad;
  const model::RandomScope undisturbed(device);
  context.training = context.recompute = false;
  context.metrics = nullptr;
  samples_->restore(start_);

  ValidationResult result;
  result.step = context.step;
  double loss_sum = 0.0;
  int64_t labels = 0;
  for (int64_t i = 0;; ++i) {
    if (stopped && stopped()) return std::nullopt;
    const data::Batch batch = next_batch(i);
    const int64_t valid = data::count_valid_labels(batch.labels);
    result.tokens += static_cast<int64_t>(batch.tokens.size());
    if (batch.batch == 0) break;
    if (valid == 0) continue;
    context.micro_batch = i;
    const at::Tensor loss = model::training_loss(root, context, tokens_of(batch, device),
                                                 labels_of(batch, device), valid);
    // A mean of means would weigh a short batch like a full one.
    loss_sum += loss.item<double>() * static_cast<double>(valid);
    labels += valid;
  }
  if (labels == 0)
    throw data_error("no label of the validation data counts: the loss would be 0 / 0",
                     "section validation", "look for samples whose labels are all masked (-100)");
  result.loss = loss_sum / static_cast<double>(labels);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace titan::train
