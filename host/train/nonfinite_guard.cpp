#include "train/nonfinite_guard.h"

#include <cmath>

#include "base/error.h"
#include "base/log.h"

namespace titan::train {

NonfiniteGuard::NonfiniteGuard(const config::Training& training,
                               std::vector<std::string> converters)
    : skips_(training.on_nonfinite == "skip"), most_in_a_row_(training.max_skipped_steps) {
  for (const std::string& name : converters)
    converters_ += (converters_.empty() ? "" : ", ") + name;
}

bool NonfiniteGuard::must_skip(int64_t step, double loss, double grad_norm,
                               checkpoint::RunPosition& position) const {
  if (std::isfinite(loss) && std::isfinite(grad_norm)) {
    position.skipped_in_a_row = 0;
    return false;
  }
  const std::string what = std::isfinite(loss) ? "the gradient norm" : "the loss";
  const std::string text = what + " is not finite in step " + std::to_string(step);
  if (!skips_) stop(step, text);
  if (position.skipped_in_a_row >= most_in_a_row_)
    stop(step, text + ", after " + std::to_string(position.skipped_in_a_row) +
                   " skipped steps in a row (training.max_skipped_steps)");
  ++position.skipped_in_a_row;
  ++position.skipped_steps;
  log_warning(text + ": the step is skipped, " + std::to_string(position.skipped_in_a_row) +
              " in a row, " + std::to_string(position.skipped_steps) + " in all" +
              (converters_.empty() ? "" : "; converters: " + converters_));
  return true;
}

void NonfiniteGuard::stop(int64_t step, const std::string& what) const {
  throw Error(
      ExitStatus::kDiverged, what,
      "step " + std::to_string(step) + (converters_.empty() ? "" : ", converters: " + converters_),
      (converters_.empty() ? "" : "see whether a run without the converters does it too; ") +
          std::string("lower optimizer.lr, warm up longer (lr_scheduler.warmup_steps), or look at "
                      "the data of this "
                      "step; nothing of it was saved"));
}

}  // namespace titan::train
