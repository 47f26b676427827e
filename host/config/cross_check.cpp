#include "config/cross_check.h"

#include "base/error.h"

namespace titan::config {
namespace {

/// Where the first of the keys that was set at all was set.
std::string place_of(const LoadedConfig& config, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (const auto found = config.origins.find(key); found != config.origins.end())
      return found->second;
  return *keys.begin();
}

void check_batch_sizes(const LoadedConfig& config) {
  const Training& training = config.values.training;
  if (training.global_batch_size == -1) return;
  if (training.global_batch_size >= 1 &&
      training.global_batch_size % training.local_batch_size == 0)
    return;
  throw usage_error(
      "training.global_batch_size (" + std::to_string(training.global_batch_size) +
          ") must be -1 or a multiple of training.local_batch_size (" +
          std::to_string(training.local_batch_size) + ")",
      place_of(config, {"training.global_batch_size", "training.local_batch_size"}),
      "choose a multiple: their quotient is the number of accumulated micro-batches");
}

void check_dataset(const LoadedConfig& config) {
  const Training& training = config.values.training;
  const bool needs_path = training.dataset != "pride_and_prejudice";
  if (needs_path && training.dataset_path.empty())
    throw usage_error("training.dataset is '" + training.dataset +
                          "', which needs training.dataset_path",
                      place_of(config, {"training.dataset"}),
                      "set --training.dataset_path=PATH to your file or folder");
}

void check_heads(const LoadedConfig& config) {
  const ModelArgs& args = config.values.model.args;
  if (args.n_heads && args.n_kv_heads && *args.n_heads % *args.n_kv_heads != 0)
    throw usage_error("model.args.n_heads (" + std::to_string(*args.n_heads) +
                          ") must be a multiple of model.args.n_kv_heads (" +
                          std::to_string(*args.n_kv_heads) + ")",
                      place_of(config, {"model.args.n_kv_heads"}),
                      "several query heads share one key and value head");
  if (args.dim && args.n_heads && *args.dim % *args.n_heads != 0)
    throw usage_error("model.args.dim (" + std::to_string(*args.dim) +
                          ") must be a multiple of model.args.n_heads (" +
                          std::to_string(*args.n_heads) + ")",
                      place_of(config, {"model.args.dim"}), "every head has the same width");
}

void check_checkpoint(const LoadedConfig& config) {
  const Checkpoint& checkpoint = config.values.checkpoint;
  if (checkpoint.keep_latest_k == 1)
    throw usage_error("checkpoint.keep_latest_k is 1, which would leave nothing if the only checkpoint "
                      "were damaged",
                      place_of(config, {"checkpoint.keep_latest_k"}), "use 2 or more, or 0 to keep all");
  if (checkpoint.folder.empty())
    throw usage_error("checkpoint.folder is empty", place_of(config, {"checkpoint.folder"}),
                      "name a folder; it lies under job.dump_folder");
  if (checkpoint.enable) return;
  const auto refuse = [&](const char* key) {
    throw usage_error(std::string(key) + " has no effect: checkpoints are not enabled",
                      place_of(config, {key}),
                      "set checkpoint.enable: true to resume from a checkpoint");
  };
  if (checkpoint.load_step != -1) refuse("checkpoint.load_step");
  if (!checkpoint.exclude_from_loading.empty()) refuse("checkpoint.exclude_from_loading");
}

}  // namespace

void check_across_keys(const LoadedConfig& config) {
  check_batch_sizes(config);
  check_dataset(config);
  check_heads(config);
  check_checkpoint(config);
}

}  // namespace titan::config
