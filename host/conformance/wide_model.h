/// The widest type that the converter under test computes in.
#pragma once

#include <functional>
#include <memory>

#include "conformance/trial_model.h"

namespace titan::conformance {

/// Calls `work` with a model in float64, and if the plugin refuses that in words, with one in
/// float32. Returns the type that worked.
at::ScalarType in_widest_type(const std::function<void(at::ScalarType dtype)>& work);

}  // namespace titan::conformance
