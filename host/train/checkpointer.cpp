#include "train/checkpointer.h"

#include <ATen/Functions.h>

#include <chrono>
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace titan::train {
namespace {

/// Copies into memory that is there already if it fits: pages of a new allocation cost more than
/// the copy.
void copy_to_memory(const std::map<std::string, at::Tensor>& from,
                    std::map<std::string, at::Tensor>& to) {
  std::map<std::string, at::Tensor> copies;
  for (const auto& [name, tensor] : from) {
    const auto old = to.find(name);
    const bool fits = old != to.end() && old->second.sizes() == tensor.sizes() &&
                      old->second.scalar_type() == tensor.scalar_type();
    at::Tensor copy =
        fits ? old->second
             : at::empty(tensor.sizes(), tensor.options().device(at::kCPU).requires_grad(false));
    copy.copy_(tensor.detach());
    copies[name] = copy;
  }
  to = std::move(copies);
}

}  // namespace

Checkpointer::Checkpointer(const config::Config& config)
    : options_(config.checkpoint),
      last_step_(config.training.steps),
      folder_(std::filesystem::path(config.job.dump_folder) / config.checkpoint.folder) {
  if (!options_.enable) return;
  lock_.emplace(folder_);
  checkpoint::remove_leftovers(folder_);
}

Checkpointer::~Checkpointer() {
  try {
    finish();
  } catch (const std::exception& error) {
    log_error(std::string("the last checkpoint was not saved: ") + error.what());
  }
}

std::optional<checkpoint::StepFolder> Checkpointer::find_resume() const {
  if (!options_.enable) return std::nullopt;
  const auto found = checkpoint::choose_step(folder_, options_.load_step);
  return found;
}

void Checkpointer::begin_after(int64_t step) {
  first_step_ = step;
  if (!options_.enable) return;
  for (const checkpoint::StepFolder& later : checkpoint::list_steps(folder_))
    if (later.step > step) {
      log_warning("this run goes on from step " + std::to_string(step) + ", " +
                  later.path.string() +
                  " is of a later one: from the first save on it and what follows it have other "
                  "names (.kept-N)");
      return;
    }
}

bool Checkpointer::due(int64_t step) const {
  if (!options_.enable) return false;
  return step % options_.interval == 0 || step == last_step_ ||
         (step == 1 && options_.enable_first_step_checkpoint);
}

void Checkpointer::after_step(int64_t step, const TakeSnapshot& take) {
  if (!options_.enable) return;
  const bool written =
      writing_.valid() && writing_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  if (written) finish();
  if (!due(step)) return;
  save(step, take(step == last_step_ && options_.last_save_model_only));
}

void Checkpointer::save_now(int64_t step, const TakeSnapshot& take) {
  if (!options_.enable) return;
  if (saved_step_ != step) save(step, take(false));
  finish();
}

void Checkpointer::finish() {
  if (writing_.valid()) log_info(writing_.get());
}

void Checkpointer::save(int64_t step, checkpoint::Snapshot snapshot) {
  finish();
  if (first_step_) checkpoint::set_aside_later(folder_, *std::exchange(first_step_, std::nullopt));
  const bool model_only = snapshot.manifest.model_only;
  if (options_.async_mode == "async") {
    staged_.manifest = std::move(snapshot.manifest);
    copy_to_memory(snapshot.model, staged_.model);
    copy_to_memory(snapshot.optimizer, staged_.optimizer);
    writing_ = std::async(std::launch::async, [this] { return write(staged_); });
  } else {
    log_info(write(snapshot));
  }
  if (!model_only) saved_step_ = step;
}

std::string Checkpointer::write(const checkpoint::Snapshot& snapshot) const {
  const auto begin = std::chrono::steady_clock::now();
  const int64_t step = snapshot.manifest.position.step;
  checkpoint::save_checkpoint(folder_, snapshot);
  checkpoint::prune_steps(folder_, options_.keep_latest_k, step);
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(
                                std::chrono::steady_clock::now() - begin)
                                .count();
  return "saved " + (folder_ / checkpoint::step_folder_name(step)).string() + " in " +
         std::to_string(milliseconds) + " ms" +
         (options_.async_mode == "async" ? ", beside the training" : "") +
         (snapshot.manifest.model_only ? " (weights alone)" : "");
}

}  // namespace titan::train
