#include "config/familiar_keys.h"

#include <array>
#include <utility>

namespace titan::config {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 20> kFamiliarKeys = {{
    {"job.config_file", "the config file is the argument of --config"},
    {"job.print_config", "use `titan config show` to print the merged config"},
    {"checkpoint.initial_load_model_only",
     "checkpoint.initial_load_path always loads the weights alone"},
    {"checkpoint.initial_load_in_hf", "Hugging Face names are recognised by themselves"},
    {"checkpoint.last_save_in_hf",
     "a step holds safetensors under titan's own names; `titan export` makes a Hugging Face folder "
     "of it"},
    {"checkpoint.create_seed_checkpoint", "equal seeds give equal weights: see training.seed"},
    {"checkpoint.load_only", "checkpoint.initial_load_path loads without saving"},
    {"debug.seed", "the seed is training.seed"},
    {"debug.", "the seed is training.seed; there are no other debug keys"},
    {"metrics.enable_wandb", "metrics.enable_tensorboard writes curves, and so does titan report"},
    {"metrics.save_for_all_ranks", "one rank reports for all"},
    {"profiling.enable_memory_snapshot", "the peak of memory is in every line of the log"},
    {"experimental.custom_import", "extensions are plugins: see plugins.paths"},
    {"training.mixed_precision_reduce",
     "gradients are accumulated in the type of the parameters, training.dtype"},
    {"activation_checkpoint.preserve_rng_state", "random generators are always restored"},
    {"activation_checkpoint.early_stop", "the whole forward of a block is always repeated"},
    {"activation_checkpoint.memory_budget", "use the modes none, full or selective"},
    {"quantize.linear.float8.",
     "float8 is a converter: model.converters: [float8], with its options in the section float8"},
    {"float8.enable_float8_linear", "float8 is applied by model.converters: [float8]"},
    {"experimental.", "extensions are plugins: see plugins.paths"},
}};

}  // namespace

std::string advice_for_familiar_key(std::string_view name) {
  for (const auto& [key, advice] : kFamiliarKeys)
    if (key == name) return std::string(advice) + "; ";
  return "";
}

}  // namespace titan::config
