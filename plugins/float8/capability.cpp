#include "capability.h"

#include <titan/cpp/error.hpp>
#include <vector>

namespace float8 {
namespace {

/// What a recipe needs of the device: a range of compute capabilities (10 * major + minor) and the
/// oldest cublasLtGetVersion(). Sources: the table of scale modes in the cuBLAS manual,
/// cublasLt.h 13.1. cuBLASLt gained tensorwise fp8 for Ada and Hopper in 12.1, for Blackwell
/// in 12.8; vectors and blocks of float32 scales in 12.9, for compute capability 9.0 alone; blocks
/// of 32 with e8m0 scales in 12.8, where 12.x has no layouts for backward.
struct Support {
  int32_t from, to;  ///< inclusive
  int32_t cublaslt;
};
constexpr int32_t kNewest = 9999;
constexpr int32_t kVectorScalesSince = 120900;

const std::vector<Support>& support_of(Recipe recipe) {
  static const std::vector<Support> any = {{89, 99, 120100}, {100, kNewest, 120800}};
  static const std::vector<Support> blocks = {{90, 99, kVectorScalesSince}};
  static const std::vector<Support> mx = {{100, 119, 120800}};
  switch (recipe) {
    case Recipe::kBlockwise: return blocks;
    case Recipe::kMxfp8: return mx;
    default: return any;
  }
}

const Support* find_support(Recipe recipe, int32_t capability) {
  for (const Support& row : support_of(recipe))
    if (row.from <= capability && capability <= row.to) return &row;
  return nullptr;
}

std::string capability_text(int32_t major, int32_t minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

/// "8.9 or newer", "9.0", "10.0 to 11.9".
std::string needed_capability(Recipe recipe) {
  const auto& rows = support_of(recipe);
  const auto text = [](int32_t capability) {
    return capability_text(capability / 10, capability % 10);
  };
  if (rows.back().to == kNewest) return text(rows.front().from) + " or newer";
  if (rows.front().from == 90) return text(90);
  return text(rows.front().from) + " to " + text(rows.back().to);
}

/// Recipes that each kind of device can run, for the hint of a refusal: "tensorwise, delayed".
std::string recipes_for(int32_t capability) {
  std::string text;
  for (const Recipe recipe : all_recipes())
    if (find_support(recipe, capability))
      text += (text.empty() ? "" : ", ") + std::string(recipe_name(recipe));
  return text;
}

}  // namespace

bool has_vector_scales(const titan_device_info& device) {
  return device.capability_major == 9 && device.cublaslt_version >= kVectorScalesSince;
}

std::string cublaslt_version_text(int64_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

std::optional<Refusal> check_device(const titan_device_info& device, const Demand& demand) {
  const Recipe recipe = demand.recipe;
  const std::string name(titan::sdk::to_view(device.name));
  const bool cuda = device.type == TITAN_CUDA;
  if (demand.emulate) {
    if (!cuda) return std::nullopt;
    return Refusal{"float8.emulate computes on the CPU; this run is on " + name,
                   "set training.device=cpu to emulate, or float8.emulate=false to use the GPU"};
  }
  const std::string needed = needed_capability(recipe);
  const std::string title = "float8 recipe " + std::string(recipe_name(recipe));
  const std::string emulate_hint =
      "set float8.emulate=true (--float8.emulate=true) to run on the CPU";
  if (!cuda)
    return Refusal{
        "float8 needs a GPU of compute capability " + needed + "; this run is on " + name,
        emulate_hint};
  const int32_t capability = 10 * device.capability_major + device.capability_minor;
  const Support* support = find_support(recipe, capability);
  const std::string others = recipes_for(capability);
  const std::string other_hint =
      (others.empty() ? "leave float8 out of model.converters on this GPU"
                      : "choose another recipe for this GPU (" + others + ")") +
      ", or set training.device=cpu and float8.emulate=true to try its numbers on the CPU";
  if (!support)
    return Refusal{title + " needs compute capability " + needed + "; " + name + " has " +
                       capability_text(device.capability_major, device.capability_minor) +
                       (recipe == Recipe::kMxfp8 && capability >= 120
                            ? " (cuBLASLt has no layouts for backward there)"
                            : ""),
                   other_hint};
  if (demand.built_for_cublaslt == 0)
    return Refusal{
        "this float8.so was built without CUDA and cannot use " + name,
        "build titan where nvcc is found (TITAN_CUDA=ON), or set training.device=cpu and "
        "float8.emulate=true"};
  const std::string version_needed = cublaslt_version_text(support->cublaslt);
  if (device.cublaslt_version == 0)
    return Refusal{
        "float8 on " + name + " needs cuBLASLt " + version_needed + " or newer; none was found",
        "install the CUDA build of torch, or put libcublasLt.so on the library search path"};
  if (device.cublaslt_version < support->cublaslt)
    return Refusal{"float8 on " + name + " needs cuBLASLt " + version_needed + " or newer; found " +
                       cublaslt_version_text(device.cublaslt_version) +
                       " (this float8.so was built for " +
                       cublaslt_version_text(demand.built_for_cublaslt) + ")",
                   "install a torch built for a newer CUDA"};
  const bool rowwise = recipe == Recipe::kRowwise || recipe == Recipe::kRowwiseWithGwHp;
  if (rowwise && !demand.power_of_two && !has_vector_scales(device))
    return Refusal{title +
                       " with power_of_two_scales off needs compute capability 9.0 and cuBLASLt " +
                       cublaslt_version_text(kVectorScalesSince) + " or newer; " + name + " has " +
                       capability_text(device.capability_major, device.capability_minor) + " and " +
                       cublaslt_version_text(device.cublaslt_version),
                   "leave power_of_two_scales at auto: scales that are powers of two run there, "
                   "with the same bits"};
  return std::nullopt;
}

}  // namespace float8
