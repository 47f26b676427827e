/// What happens to a step whose loss or gradient norm is not finite.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/manifest.h"
#include "config/config.h"

namespace titan::train {

class NonfiniteGuard {
 public:
  /// `converters`: the instances that are applied, for messages.
  NonfiniteGuard(const config::Training& training, std::vector<std::string> converters);

  /// Whether bad steps are passed over and not the end.
  bool skips() const { return skips_; }

  /// True if the step must be skipped; it is logged and counted in `position` then. Throws an error
  /// of status kDiverged if bad steps end the run, or if there were too many in a row.
  bool must_skip(int64_t step, double loss, double grad_norm,
                 checkpoint::RunPosition& position) const;

 private:
  [[noreturn]] void stop(int64_t step, const std::string& what) const;

  bool skips_;
  int64_t most_in_a_row_;
  std::string converters_;
};

}  // namespace titan::train
