/// Recipe delayed: the scale of a tensor comes from the largest magnitudes of earlier steps.
/// After TransformerEngine's DelayedScaling, but for two things: a scale starts from the first
/// tensor, not from 1 (at which gradients below 2^-17 vanish in e5m2), and infinities and NaN never
/// enter a history.
#pragma once

#include <cstdint>

#include "format.h"

namespace float8 {

enum class AmaxAlgorithm {
  kMax,         ///< the largest of the whole history
  kMostRecent,  ///< that of the last step
};

struct DelayedOptions {
  int64_t history_length = 1024;
  int64_t margin = 0;  ///< the scale is 2^margin smaller than it could be
  AmaxAlgorithm algorithm = AmaxAlgorithm::kMax;
};

/// max * 2^-margin: what the scale is for an amax of 1.
float largest_scaled(Format format, const DelayedOptions& options);

/// One step of a tensor's state. history [L] holds in slot 0 the largest magnitude of this step so
/// far (0: the tensor was not seen), then those of earlier steps, oldest first.
///
/// scale = max * 2^-margin / amax, the history moves on by one and slot 0 is emptied. A tensor that
/// was all zeros or not seen changes nothing; an amax so small that the scale would overflow gives
/// FLT_MAX.
void update_delayed(float* history, float* scale, Format format, const DelayedOptions& options);

}  // namespace float8
