/// Which device can run which recipe, and what to tell the user where it cannot.
#pragma once

#include <titan/converter.h>

#include <optional>
#include <string>
#include <string_view>

namespace float8 {

enum class Recipe { kTensorwise };

/// The recipe of that name, or nullopt.
std::optional<Recipe> find_recipe(std::string_view name);
std::string_view recipe_name(Recipe recipe);

/// Why a run is refused and how to cure it.
struct Refusal {
  std::string message;
  std::string hint;
};

/// Decides from facts alone, so that a device can be planned for that is not at hand; nullopt: it
/// can run. `built_with_cuda`: whether this build carries device code.
std::optional<Refusal> check_device(const titan_device_info& device, Recipe recipe, bool emulate,
                                    bool built_with_cuda);

/// 130100 as "13.1.0".
std::string cublaslt_version_text(int64_t version);

}  // namespace float8
