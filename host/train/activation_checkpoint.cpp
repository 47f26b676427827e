#include "train/activation_checkpoint.h"

#include <charconv>

#include "model/recompute.h"

namespace titan::train {

std::string apply_activation_checkpoint(model::Module& root,
                                        const config::ActivationCheckpoint& options) {
  using model::Recompute;
  const std::string& option = options.selective_ac_option;
  const bool selective = options.mode == "selective", by_op = selective && option == "op";
  Recompute recompute = options.mode == "none" ? Recompute::kNothing : Recompute::kAll;
  if (by_op) recompute = Recompute::kAllButOps;
  int64_t every = 1;  // the config has checked that the text is a positive number
  if (selective && !by_op) std::from_chars(option.data(), option.data() + option.size(), every);

  const int64_t marked = model::mark_blocks_for_recompute(root, recompute, every);
  int64_t blocks = 0;
  model::visit_modules(root, [&](model::Module& module) { blocks += module.kind() == "block"; });
  return "mode " + options.mode + (selective ? " (" + option + ")" : "") + ": " +
         std::to_string(marked) + " of " + std::to_string(blocks) +
         " blocks run their forward again in backward" +
         (by_op ? ", without attention and every second matrix product" : "");
}

}  // namespace titan::train
