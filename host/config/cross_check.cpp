#include "config/cross_check.h"

#include <charconv>

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

/// What is stored in bfloat16 has no more digits to compute with.
void check_types(const LoadedConfig& config) {
  const Training& training = config.values.training;
  if (training.dtype != "bfloat16" || training.mixed_precision_param != "float32") return;
  throw usage_error(
      "training.mixed_precision_param (float32) is wider than training.dtype (bfloat16)",
      place_of(config, {"training.mixed_precision_param", "training.dtype"}),
      "set training.mixed_precision_param: bfloat16 to compute in the parameters' type, or "
      "training.dtype: float32 to store more digits");
}

void check_selective_option(const LoadedConfig& config) {
  const std::string& option = config.values.activation_checkpoint.selective_ac_option;
  int32_t every = 0;
  const auto [end, error] = std::from_chars(option.data(), option.data() + option.size(), every);
  const bool number = error == std::errc() && end == option.data() + option.size() && every >= 1;
  if (number || option == "op") return;
  throw usage_error(
      "activation_checkpoint.selective_ac_option must be a positive number or op, found '" +
          option + "'",
      place_of(config, {"activation_checkpoint.selective_ac_option"}),
      "2 recomputes every second block; op recomputes all, but keeps the most expensive results");
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

}  // namespace

void check_across_keys(const LoadedConfig& config) {
  check_batch_sizes(config);
  check_dataset(config);
  check_heads(config);
  check_types(config);
  check_selective_option(config);
}

}  // namespace titan::config
