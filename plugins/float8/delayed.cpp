#include "delayed.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace float8 {

float largest_scaled(Format format, const DelayedOptions& options) {
  const float largest =
      format == Format::kE4M3 ? FormatFacts<Format::kE4M3>::kMax : FormatFacts<Format::kE5M2>::kMax;
  return std::ldexp(largest, -static_cast<int>(options.margin));
}

void update_delayed(float* history, float* scale, Format format, const DelayedOptions& options) {
  const int64_t length = options.history_length;
  const float staged = history[0];
  if (!(staged > 0) || !std::isfinite(staged)) {
    history[0] = 0;
    return;
  }
  float amax = staged;
  if (options.algorithm == AmaxAlgorithm::kMax)
    for (int64_t i = 1; i < length; ++i) amax = std::max(amax, history[i]);
  const float exact = largest_scaled(format, options) / amax;
  *scale = std::isinf(exact) ? FLT_MAX : exact;
  for (int64_t i = 1; i + 1 < length; ++i) history[i] = history[i + 1];
  if (length > 1) history[length - 1] = staged;
  history[0] = 0;
}

}  // namespace float8
