/// The converter: checks the device, chooses a backend, replaces the linear layers that fit.
#include <memory>
#include <string>
#include <titan/titan_sdk.hpp>

#include "capability.h"
#include "linear.h"
#include "titan_note.h"

namespace float8 {
namespace {

/// fp8 tensor cores take rows of 16 bytes, and every dimension of a weight is a row in one of the
/// three products.
constexpr int64_t kMultiple = 16;

std::shared_ptr<Backend> choose_backend(const titan::sdk::Create& create) {
  const auto name = create.option<std::string>("recipe");
  const std::optional<Recipe> recipe = find_recipe(name);
  if (!recipe)
    throw titan::sdk::Error(TITAN_INVALID_ARGUMENT, "float8 has no recipe '" + name + "'", "use tensorwise");
  const bool emulate = create.option<bool>("emulate");
  if (const auto refusal = check_device(create.device(), *recipe, emulate, built_with_cuda()))
    throw titan::sdk::Error(TITAN_UNSUPPORTED, refusal->message, refusal->hint);
  if (emulate) return make_emulate_backend();
  return make_cuda_backend(create.device().capability_major);
}

/// Why a layer cannot be converted; empty if it can.
std::string reason_to_keep(const titan::sdk::Module& module) {
  for (const char* name : {"in_features", "out_features"}) {
    const auto size = static_cast<int64_t>(module.attribute(name));
    if (size % kMultiple != 0)
      return std::string(name) + " " + std::to_string(size) + " is not a multiple of " +
             std::to_string(kMultiple) + ": stays in high precision";
  }
  return {};
}

class Float8 {
 public:
  explicit Float8(const titan::sdk::Create& create) : instance_(create.instance()), backend_(choose_backend(create)) {}

  void convert(const titan::sdk::Model& model) {
    int64_t converted = 0;
    std::string kept;
    for (const titan::sdk::Module& module : model.modules(TITAN_KIND_LINEAR)) {
      const std::string reason = reason_to_keep(module);
      if (reason.empty()) {
        module.replace(std::make_unique<Float8Linear>(backend_));
        ++converted;
        continue;
      }
      module.keep(reason);
      if (kept.empty()) kept = "; for one, " + module.fqn() + ": " + reason;
    }
    if (converted == 0)
      throw titan::sdk::Error(
          TITAN_INVALID_ARGUMENT, "converter '" + instance_ + "' found no linear layer that it can convert" + kept,
          "choose linear layers whose dimensions are multiples of 16 with " + instance_ + ".include and " +
              instance_ + ".exclude, or take it out of model.converters");
  }

 private:
  std::string instance_;
  std::shared_ptr<Backend> backend_;
};

}  // namespace
}  // namespace float8

TITAN_CONVERTERS(titan::sdk::converter<float8::Float8>("float8"))
