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

/// Decides from facts alone, so that a device can be planned for that is not at hand; nullopt: it
/// can run. `built_with_cuda`: whether this build carries device code.
std::optional<Refusal> check_device(const titan_device_info& device, Recipe recipe, bool emulate,
                                    bool built_with_cuda);

/// Whether the device backend computes it.
bool has_device_code(Recipe recipe);

/// 130100 as "13.1.0".
std::string cublaslt_version_text(int64_t version);

}  // namespace float8
