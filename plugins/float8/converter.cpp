/// The converter: checks the device, chooses a backend, replaces the linear layers that fit.
#include <memory>
#include <string>
#include <titan/titan_sdk.hpp>

#include "capability.h"
#include "forecast.h"
#include "linear.h"
#include "options.h"
#include "titan_note.h"

namespace float8 {
namespace {

std::shared_ptr<Backend> choose_backend(const titan::sdk::Create& create, const Options& options) {
  if (const auto refusal = check_device(create.device(), options.recipe, options.emulate, built_with_cuda()))
    throw titan::sdk::Error(TITAN_UNSUPPORTED, refusal->message, refusal->hint);
  if (options.emulate) return make_emulate_backend(options.plan);
  if (options.pad_inner_dim)
    throw titan::sdk::Error(TITAN_UNSUPPORTED, "pad_inner_dim is not among what the device backend computes",
                            "take it out: layers that do not fit stay in high precision");
  return make_cuda_backend(create.device().capability_major);
}

class Float8 {
 public:
  explicit Float8(const titan::sdk::Create& create)
      : instance_(create.instance()), options_(read_options(create)), forecast_(create, options_.recipe, options_.emulate) {
    linear_ = std::make_shared<const LinearOptions>(
        LinearOptions{choose_backend(create, options_), options_.plan, options_.delayed, options_.metrics_freq});
  }

  void convert(const titan::sdk::Model& model) {
    int64_t converted = 0;
    std::string kept;
    for (const titan::sdk::Module& module : model.modules(TITAN_KIND_LINEAR)) {
      const std::string reason = reason_to_keep(module);
      if (reason.empty()) {
        module.replace(std::make_unique<Float8Linear>(linear_));
        forecast_.add(module);
        if (options_.delayed) add_delayed_state(module, *options_.delayed);
        ++converted;
        continue;
      }
      module.keep(reason);
      if (kept.empty()) kept = "; for one, " + module.fqn() + ": " + reason;
    }
    if (converted == 0)
      throw titan::sdk::Error(
          TITAN_INVALID_ARGUMENT, "converter '" + instance_ + "' found no linear layer that it can convert" + kept,
          "choose linear layers whose dimensions are multiples of " + std::to_string(size_multiple(options_.recipe)) + " with " +
              instance_ + ".include and " + instance_ + ".exclude, or take it out of model.converters");
    if (const auto warning = forecast_.warning()) titan::sdk::log_warning(*warning);
  }

  void post_optimizer_hook(const titan::sdk::Hook& hook) const {
    if (options_.delayed && hook.info().reason == TITAN_HOOK_STEP)
      update_delayed_states(hook, *options_.delayed, options_.plan.dx.left.format);
  }

 private:
  /// Why a layer is not converted; empty if it is.
  std::string reason_to_keep(const titan::sdk::Module& module) const {
    const std::string fqn = module.fqn();
    const auto in = static_cast<int64_t>(module.attribute("in_features"));
    const auto out = static_cast<int64_t>(module.attribute("out_features"));
    // Every dimension of a weight is a row of bytes in one of the three products.
    const int64_t multiple = size_multiple(options_.recipe);
    const auto misfit = [&](const char* name, int64_t size) {
      return std::string(name) + " " + std::to_string(size) + " is not a multiple of " + std::to_string(multiple);
    };
    std::string reason;
    if (in % multiple != 0 && !options_.pad_inner_dim) reason = misfit("in_features", in);
    if (out % multiple != 0) reason = misfit("out_features", out);
    if (!reason.empty()) {
      if (options_.strict)
        throw titan::sdk::Error(TITAN_INVALID_ARGUMENT, fqn + ": " + reason + ", and strict allows no layer to stay",
                                "leave it out with " + instance_ + ".exclude, or set strict to false");
      return reason + ": stays in high precision";
    }
    return options_.auto_filter_small_kn ? auto_filter(options_.recipe, in, out) : std::string();
  }

  std::string instance_;
  Options options_;
  Forecast forecast_;
  std::shared_ptr<const LinearOptions> linear_;
};

}  // namespace
}  // namespace float8

TITAN_CONVERTERS(titan::sdk::converter<float8::Float8>("float8"))
