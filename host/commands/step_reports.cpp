#include "commands/step_reports.h"

#include <unistd.h>

#include <utility>

#include "base/log.h"
#include "base/numbers.h"
#include "base/printable.h"
#include "base/terminal.h"
#include "observe/console.h"
#include "observe/throughput.h"
#include "train/device_memory.h"

namespace titan::commands {
namespace {

double unix_time_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// In one line and in quotes: a text must not forge lines of the log.
std::string quoted(const std::string& text, size_t most) {
  std::string shown = "\"";
  for (const char c : printable(text, most))
    if (c == '\n')
      shown += "\\n";
    else
      shown += c;
  return shown + "\"";
}

}  // namespace

StepReports::StepReports(const train::Trainer& trainer, const config::Config& config,
                         std::optional<double> peak, std::vector<observe::MetricsSink*> sinks)
    : trainer_(trainer),
      config_(config),
      sinks_(std::move(sinks)),
      progress_("train", trainer.total_steps(), STDERR_FILENO),
      color_(use_color(STDERR_FILENO) && !config.metrics.disable_color_printing),
      flops_(static_cast<double>(
          model::flops_per_token(trainer.model_args(), config.training.seq_len))),
      peak_(peak),
      epoch_(trainer.dataset_epoch()) {
  progress_.start_from(trainer.steps_done());
}

void StepReports::add(const train::StepResult& result) {
  tokens_since_ += result.tokens;
  ++steps_since_;
  data_seconds_since_ += result.data_seconds;
  if (first_step_ == 0) {
    first_step_ = result.step;
    first_loss_ = result.loss;
  }
  last_loss_ = result.loss;
  if (trainer_.dataset_epoch() != epoch_) {
    epoch_ = trainer_.dataset_epoch();
    progress_.clear();
    log_warning("dataset " + config_.training.dataset + " is being re-looped (epoch " +
                std::to_string(epoch_ + 1) + ")");
  }
  const bool last = result.step == trainer_.total_steps();
  if (result.step == 1 || last || result.step % config_.metrics.log_freq == 0) write(result);
  progress_.update(result.step);
}

std::string StepReports::summary() const {
  if (first_step_ == 0)
    return "step " + std::to_string(trainer_.steps_done()) +
           " was done before, and training.steps is " + std::to_string(trainer_.total_steps());
  return "loss " + fixed_point(first_loss_, 5) + " in step " + std::to_string(first_step_) + ", " +
         fixed_point(last_loss_, 5) + " in step " + std::to_string(trainer_.steps_done());
}

void StepReports::add(const train::ValidationResult& result) {
  since_ +=
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(result.seconds));
  const train::DeviceMemory memory = train::device_memory(trainer_.device());
  observe::ValidationMetrics metrics;
  metrics.step = result.step;
  metrics.unix_time = unix_time_now();
  metrics.loss = result.loss;
  metrics.tps = observe::throughput(result.tokens, result.seconds, 0, {}).tps;
  metrics.n_tokens = result.tokens;
  metrics.memory_peak_bytes = memory.peak_bytes;
  metrics.memory_total_bytes = memory.total_bytes;
  metrics.memory_active_bytes = memory.active_bytes;
  for (observe::MetricsSink* sink : sinks_) sink->write(metrics);
  progress_.clear();
  log_info(observe::console_line(metrics, color_));
}

void StepReports::add(const train::WrittenSamples& samples) {
  since_ +=
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(samples.seconds));
  progress_.clear();
  for (size_t i = 0; i < samples.texts.size(); ++i) {
    const auto& [prompt, text] = samples.texts[i];
    observe::TextSample sample;
    sample.step = samples.step;
    sample.unix_time = unix_time_now();
    sample.name = "prompt_" + std::to_string(i + 1);
    sample.prompt = prompt;
    sample.text = text;
    for (observe::MetricsSink* sink : sinks_) sink->write(sample);
    log_info("sample " + std::to_string(i + 1) + " after step " + std::to_string(samples.step) +
             ": " + quoted(prompt, 200) + " -> " + quoted(text, 2000));
  }
}

void StepReports::write(const train::StepResult& result) {
  const double seconds = std::chrono::duration<double>(Clock::now() - since_).count();
  const train::DeviceMemory memory = train::device_memory(trainer_.device());
  const observe::Throughput speed = observe::throughput(tokens_since_, seconds, flops_, peak_);
  observe::StepMetrics metrics;
  metrics.step = result.step;
  metrics.unix_time = unix_time_now();
  metrics.loss = result.loss;
  metrics.grad_norm = result.grad_norm;
  metrics.lr = result.lr;
  metrics.tps = speed.tps;
  metrics.tflops = speed.tflops;
  metrics.mfu = speed.mfu;
  metrics.step_seconds = seconds / static_cast<double>(steps_since_);
  metrics.data_seconds = data_seconds_since_ / static_cast<double>(steps_since_);
  metrics.n_tokens_seen = trainer_.position().tokens_seen;
  metrics.skipped_steps = trainer_.position().skipped_steps;
  metrics.memory_peak_bytes = memory.peak_bytes;
  metrics.memory_total_bytes = memory.total_bytes;
  metrics.memory_active_bytes = memory.active_bytes;
  metrics.num_alloc_retries = memory.num_alloc_retries;
  metrics.num_ooms = memory.num_ooms;
  metrics.converter_metrics = result.converter_metrics;
  for (observe::MetricsSink* sink : sinks_) sink->write(metrics);
  progress_.clear();
  log_info(observe::console_line(metrics, color_));
  since_ = Clock::now();
  tokens_since_ = steps_since_ = 0;
  data_seconds_since_ = 0;
}

}  // namespace titan::commands
