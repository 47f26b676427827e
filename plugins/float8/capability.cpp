#include "capability.h"

#include <titan/cpp/error.hpp>

namespace float8 {
namespace {

/// What a recipe needs of the device, by compute capability. A row holds for all capabilities from
/// its own up to that of the next row. cuBLASLt gained tensorwise fp8 for Ada and Hopper in 12.1
/// and for Blackwell in 12.8.
struct Support {
  Recipe recipe;
  int32_t capability;  ///< 10 * major + minor
  int32_t cublaslt;    ///< oldest cublasLtGetVersion()
};
constexpr Support kSupport[] = {
    {Recipe::kTensorwise, 89, 120100},
    {Recipe::kTensorwise, 90, 120100},
    {Recipe::kTensorwise, 100, 120800},
};

const Support* find_support(Recipe recipe, int32_t capability) {
  const Support* found = nullptr;
  for (const Support& row : kSupport)
    if (row.recipe == recipe && row.capability <= capability) found = &row;
  return found;
}

std::string capability_text(int32_t major, int32_t minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string needed_capability(Recipe recipe) {
  for (const Support& row : kSupport)
    if (row.recipe == recipe) return capability_text(row.capability / 10, row.capability % 10);
  return "";
}

}  // namespace

std::optional<Recipe> find_recipe(std::string_view name) {
  if (name == "tensorwise") return Recipe::kTensorwise;
  return std::nullopt;
}

std::string_view recipe_name(Recipe recipe) {
  switch (recipe) {
    case Recipe::kTensorwise:
      return "tensorwise";
  }
  return "";
}

std::string cublaslt_version_text(int64_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

std::optional<Refusal> check_device(const titan_device_info& device, Recipe recipe, bool emulate,
                                    bool built_with_cuda) {
  const std::string name(titan::sdk::to_view(device.name));
  const bool cuda = device.type == TITAN_CUDA;
  if (emulate) {
    if (!cuda) return std::nullopt;
    return Refusal{"float8.emulate computes on the CPU; this run is on " + name,
                   "set training.device=cpu to emulate, or float8.emulate=false to use the GPU"};
  }
  const std::string needed = needed_capability(recipe);
  const std::string emulate_hint = "set float8.emulate=true (--float8.emulate=true) to run on the CPU";
  if (!cuda)
    return Refusal{"float8 needs a GPU of compute capability " + needed + " or newer; this run is on " + name,
                   emulate_hint};
  const int32_t capability = 10 * device.capability_major + device.capability_minor;
  const Support* support = find_support(recipe, capability);
  if (!support)
    return Refusal{"float8 recipe " + std::string(recipe_name(recipe)) + " needs compute capability " + needed +
                       " or newer; " + name + " has " +
                       capability_text(device.capability_major, device.capability_minor),
                   "leave float8 out of model.converters on this GPU, or set training.device=cpu and "
                   "float8.emulate=true to try its numbers on the CPU"};
  if (!built_with_cuda)
    return Refusal{"this float8.so was built without CUDA and cannot use " + name,
                   "build titan where nvcc is found (TITAN_CUDA=ON), or set training.device=cpu and "
                   "float8.emulate=true"};
  const std::string version_needed = cublaslt_version_text(support->cublaslt);
  if (device.cublaslt_version == 0)
    return Refusal{"float8 on " + name + " needs cuBLASLt " + version_needed + " or newer; none was found",
                   "install the CUDA build of torch, or put libcublasLt.so on the library search path"};
  if (device.cublaslt_version < support->cublaslt)
    return Refusal{"float8 on " + name + " needs cuBLASLt " + version_needed + " or newer; found " +
                       cublaslt_version_text(device.cublaslt_version),
                   "install a torch built for a newer CUDA"};
  return std::nullopt;
}

}  // namespace float8
