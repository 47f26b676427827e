#include "config/cross_check.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/fields.h"
#include "config/mixture.h"

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
  const int64_t devices = config.values.parallelism.devices();
  if (training.global_batch_size == -1) return;
  if (training.global_batch_size >= 1 &&
      training.global_batch_size % (training.local_batch_size * devices) == 0)
    return;
  throw usage_error("training.global_batch_size (" + std::to_string(training.global_batch_size) +
                        ") must be -1 or a multiple of training.local_batch_size (" +
                        std::to_string(training.local_batch_size) + ")" +
                        (devices > 1 ? " on " + std::to_string(devices) + " devices" : ""),
                    place_of(config, {"training.global_batch_size", "training.local_batch_size"}),
                    "choose a multiple: their quotient is the number of accumulated micro-batches");
}

void check_dataset(const LoadedConfig& config, const std::string& section,
                   const std::string& dataset, const std::string& path) {
  const std::string key = section + ".dataset";
  if (dataset == "mixture") {
    const std::string where = place_of(config, {"training.mixture", key.c_str()});
    parse_mixture(config.values.training.mixture, where);
    if (!path.empty())
      throw usage_error(
          key + "_path has no effect: the sources of a mixture have paths of their own",
          place_of(config, {(key + "_path").c_str()}), "leave it out, or choose another " + key);
    return;
  }
  if (dataset != "pride_and_prejudice" && path.empty())
    throw usage_error(key + " is '" + dataset + "', which needs " + key + "_path",
                      place_of(config, {key.c_str()}),
                      "set --" + key + "_path=PATH to your file or folder");
}

void check_validation(const LoadedConfig& config) {
  const Validation& validation = config.values.validation;
  if (validation.steps == 0)
    throw usage_error("validation.steps is 0: nothing would be measured",
                      place_of(config, {"validation.steps"}),
                      "give a number of batches, or -1 for all data once");
  if (validation.enable)
    check_dataset(config, "validation", validation.dataset, validation.dataset_path);
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
  if (args.hidden_dim && (args.ffn_dim_multiplier || args.multiple_of)) {
    const char* other =
        args.ffn_dim_multiplier ? "model.args.ffn_dim_multiplier" : "model.args.multiple_of";
    throw usage_error(std::string(other) +
                          " has no effect: model.args.hidden_dim gives the width it would lead to",
                      place_of(config, {other}), "leave one of the two out");
  }
  if (args.dim && args.n_heads && !args.head_dim && config.values.model.name == "llama3" &&
      *args.dim % *args.n_heads != 0)
    throw usage_error("model.args.dim (" + std::to_string(*args.dim) +
                          ") must be a multiple of model.args.n_heads (" +
                          std::to_string(*args.n_heads) + ")",
                      place_of(config, {"model.args.dim"}), "every head has the same width");
}

void check_checkpoint(const LoadedConfig& config) {
  const Checkpoint& checkpoint = config.values.checkpoint;
  if (checkpoint.keep_latest_k == 1)
    throw usage_error(
        "checkpoint.keep_latest_k is 1, which would leave nothing if the only checkpoint "
        "were damaged",
        place_of(config, {"checkpoint.keep_latest_k"}), "use 2 or more, or 0 to keep all");
  if (checkpoint.folder.empty())
    throw usage_error("checkpoint.folder is empty", place_of(config, {"checkpoint.folder"}),
                      "name a folder; it lies under job.dump_folder");
}

bool from_command_line(const LoadedConfig& config, const std::string& key) {
  const auto found = config.origins.find(key);
  return found != config.origins.end() && found->second.starts_with("--");
}

void check_profiling(const LoadedConfig& config) {
  const Profiling& profiling = config.values.profiling;
  if (profiling.profiler_active <= profiling.profile_freq &&
      profiling.profiler_warmup <= profiling.profile_freq - profiling.profiler_active)
    return;
  throw usage_error("profiling.profiler_warmup (" + std::to_string(profiling.profiler_warmup) +
                        ") and profiling.profiler_active (" +
                        std::to_string(profiling.profiler_active) +
                        ") are more steps than profiling.profile_freq (" +
                        std::to_string(profiling.profile_freq) + ")",
                    place_of(config, {"profiling.profile_freq", "profiling.profiler_active",
                                      "profiling.profiler_warmup"}),
                    "a trace every so many steps has that many steps for both: raise profile_freq, "
                    "or lower the others");
}

/// A value that is not the default was meant to do something.
void refuse_without_effect(const LoadedConfig& config, const Field& field, const std::string& why,
                           const std::string& hint) {
  if (field.get(config.values) == field.get(Config{})) return;
  throw usage_error(field.full_name() + " has no effect: " + why,
                    place_of(config, {field.full_name().c_str()}), hint);
}

/// Whether training or validation reads this kind of data.
bool reads(const Config& values, std::initializer_list<std::string_view> datasets) {
  std::vector<std::string> read = {values.training.dataset};
  if (values.validation.enable) read.push_back(values.validation.dataset);
  if (values.training.dataset == "mixture")
    for (const MixtureSource& source : parse_mixture(values.training.mixture, "training.mixture"))
      read.push_back(source.dataset);
  return std::any_of(read.begin(), read.end(), [&](const std::string& name) {
    return std::find(datasets.begin(), datasets.end(), name) != datasets.end();
  });
}

void check_data_effects(const LoadedConfig& config) {
  const Config& values = config.values;
  const auto refuse = [&](const char* section, const char* key, const std::string& why) {
    refuse_without_effect(config, *find_field(section, key), why,
                          "choose another dataset, or leave the key out");
  };
  if (values.training.dataset != "mixture")
    refuse("training", "mixture", "training.dataset is '" + values.training.dataset + "'");
  if (!reads(values, {"jsonl"})) refuse("training", "dataset_key", "no dataset is jsonl");
  if (!reads(values, {"chat"}))
    for (const char* key : {"chat_template", "chat_packing"})
      refuse("training", key, "no dataset is chat");
  if (!values.training.shuffle)
    refuse_without_effect(config, *find_field("training", "shuffle_buffer"),
                          "training.shuffle is false",
                          "set training.shuffle: true, or leave the key out");
  else if (!reads(values, {"jsonl", "chat"}))
    refuse("training", "shuffle_buffer", "no dataset is jsonl or chat");
  if (!reads(values, {"pride_and_prejudice", "text", "jsonl"}))
    for (const char* key : {"add_bos", "add_eos", "parse_special_tokens"})
      refuse("training", key, "no dataset is text or jsonl");
  if (values.model.tokenizer_path.empty() && values.model.flavor != "from_hf")
    refuse_without_effect(config, *find_field("training", "parse_special_tokens"),
                          "the byte tokenizer has no text for its special tokens",
                          "set model.tokenizer_path, or leave the key out");
}

/// `section`.`enable` decides whether what its other keys say matters.
struct Switch {
  const char* section;
  const char* enable;
  std::vector<std::string> keys;
  const char* off;  ///< why the keys have no effect then
};

void check_switch(const LoadedConfig& config, const Switch& rule) {
  const std::string enable = std::string(rule.section) + "." + rule.enable;
  const std::optional<OptionValue> on = find_field(rule.section, rule.enable)->get(config.values);
  if (std::get<bool>(on->items.front())) return;
  // Whoever turns it off for once need not edit the file.
  const bool turned_off = from_command_line(config, enable);
  for (const std::string& key : rule.keys) {
    const Field& field = *find_field(rule.section, key);
    if (turned_off && !from_command_line(config, field.full_name())) continue;
    refuse_without_effect(config, field, rule.off,
                          "set " + enable + ": true, or leave the key out");
  }
}

void check_effects(const LoadedConfig& config) {
  const Config& values = config.values;
  check_data_effects(config);
  check_switch(
      config,
      {"metrics", "enable_tensorboard", {"save_tb_folder"}, "no TensorBoard events are written"});
  check_switch(config, {"samples",
                        "enable",
                        {"freq", "prompts", "max_new_tokens", "temperature", "top_k", "top_p"},
                        "no texts are written"});
  check_switch(config,
               {"profiling",
                "enable_profiling",
                {"save_traces_folder", "profile_freq", "profiler_active", "profiler_warmup"},
                "no steps are profiled"});
  if (const Profiling& profiling = values.profiling;
      profiling.enable_profiling && profiling.profile_freq > values.training.steps)
    throw usage_error("no step would be traced: profiling.profile_freq is " +
                          std::to_string(profiling.profile_freq) + ", training.steps " +
                          std::to_string(values.training.steps),
                      place_of(config, {"profiling.profile_freq", "profiling.enable_profiling",
                                        "training.steps"}),
                      "lower profiling.profile_freq, or raise training.steps");
  if (values.training.on_nonfinite != "skip")
    refuse_without_effect(
        config, *find_field("training", "max_skipped_steps"),
        "no step is skipped (training.on_nonfinite: " + values.training.on_nonfinite + ")",
        "set training.on_nonfinite: skip, or leave the key out");
  if (!values.checkpoint.enable) {
    std::vector<std::string> keys;
    for (const std::string& key : keys_of("checkpoint"))
      if (key != "enable" && key != "initial_load_path" && key != "adapter_load_path")
        keys.push_back(key);
    check_switch(config, {"checkpoint", "enable", keys, "checkpoints are not enabled"});
  } else if (!values.checkpoint.last_save_model_only) {
    refuse_without_effect(
        config, *find_field("checkpoint", "export_dtype"),
        "it is the type of model-only saves (checkpoint.last_save_model_only: false), and a "
        "checkpoint to resume from keeps the types of the run",
        "set checkpoint.last_save_model_only: true, or leave the key out");
    refuse_without_effect(config, *find_field("checkpoint", "adapter_only"),
                          "it is about model-only saves (checkpoint.last_save_model_only: false), "
                          "and a checkpoint to "
                          "resume from holds the whole run",
                          "set checkpoint.last_save_model_only: true, or leave the key out");
  }
}

void check_folders(const LoadedConfig& config) {
  if (config.values.profiling.save_traces_folder.empty())
    throw usage_error("profiling.save_traces_folder is empty",
                      place_of(config, {"profiling.save_traces_folder"}),
                      "name a folder; it lies under job.dump_folder");
  if (config.values.metrics.save_tb_folder.empty())
    throw usage_error("metrics.save_tb_folder is empty",
                      place_of(config, {"metrics.save_tb_folder"}),
                      "name a folder; it lies under job.dump_folder");
  if (config.values.job.dump_folder.empty())
    throw usage_error("job.dump_folder is empty", place_of(config, {"job.dump_folder"}),
                      "name a folder; '.' is the current one");
}

}  // namespace

void check_across_keys(const LoadedConfig& config) {
  check_folders(config);
  check_batch_sizes(config);
  check_dataset(config, "training", config.values.training.dataset,
                config.values.training.dataset_path);
  check_validation(config);
  check_heads(config);
  check_types(config);
  check_selective_option(config);
  check_checkpoint(config);
  if (config.values.profiling.enable_profiling) check_profiling(config);
  check_effects(config);
}

}  // namespace titan::config
