/// Which device can run which recipe, and what to tell the user where it cannot.
#pragma once

#include <titan/converter.h>

#include <optional>
#include <string>

#include "recipe.h"

namespace float8 {

/// Why a run is refused and how to cure it.
struct Refusal {
  std::string message;
  std::string hint;
};

/// What is asked of a device.
struct Demand {
  Recipe recipe = Recipe::kTensorwise;
  bool power_of_two = false;  ///< all scales are powers of two
  bool emulate = false;
  int64_t built_for_cublaslt =
      0;  ///< cublasLtGetVersion() of the headers this was built with; 0: without CUDA
};

/// Decides from facts alone, so that a device can be planned for that is not at hand; nullopt: it
/// can run.
std::optional<Refusal> check_device(const titan_device_info& device, const Demand& demand);

/// Whether cuBLASLt multiplies with a scale for each row there (OUTER_VEC_32F).
bool has_vector_scales(const titan_device_info& device);

/// 130100 as "13.1.0".
std::string cublaslt_version_text(int64_t version);

}  // namespace float8
