/// The converter: checks the device, chooses a backend, replaces the linear layers that fit.
#include <algorithm>
#include <memory>
#include <string>
#include <titan/titan_sdk.hpp>

#include "auto_filter.h"
#include "capability.h"
#include "forecast.h"
#include "linear.h"
#include "options.h"
#include "titan_note.h"

namespace float8 {
namespace {

std::shared_ptr<Backend> choose_backend(const titan::sdk::Create& create, const Options& options) {
  const titan_device_info& device = create.device();
  const bool power_of_two = options.plan.y.left.rule != ScaleRule::kExact;
  if (const auto refusal = check_device(
          device, {options.recipe, power_of_two, options.emulate, built_for_cublaslt()}))
    throw titan::sdk::Error(TITAN_UNSUPPORTED, refusal->message, refusal->hint);
  if (options.emulate) return make_emulate_backend(options.plan);
  const bool rowwise = options.plan.y.left.granularity == Granularity::kVector;
  const bool vector_scales = has_vector_scales(device);
  if (rowwise && !vector_scales)
    titan::sdk::log_info(
        "float8: cuBLASLt has no scales for rows on " +
        std::string(titan::sdk::to_view(device.name)) +
        ": they are applied after each product, with the same bits as they are powers of two");
  return make_cuda_backend(
      options.plan,
      {device.capability_major, device.capability_minor, vector_scales, options.fast_accumulation.y,
       options.fast_accumulation.dx, options.fast_accumulation.dw});
}

class Float8 {
 public:
  explicit Float8(const titan::sdk::Create& create)
      : instance_(create.instance()),
        options_(read_options(create)),
        forecast_(create, options_.plan, options_.emulate) {
    linear_ = std::make_shared<const LinearOptions>(
        LinearOptions{choose_backend(create, options_), options_.plan, options_.delayed,
                      options_.metrics_freq, options_.float32_grad_weight});
  }

  void convert(const titan::sdk::Model& model) {
    int64_t converted = 0;
    std::string kept;
    for (const titan::sdk::Module& module : model.modules(TITAN_KIND_LINEAR)) {
      const std::string reason = reason_to_keep(module);
      if (reason.empty()) {
        module.replace(std::make_unique<Float8Linear>(
            linear_, static_cast<int64_t>(module.attribute("in_features")), has_bias(module)));
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
          TITAN_INVALID_ARGUMENT,
          "converter '" + instance_ + "' found no linear layer that it can convert" + kept,
          "choose linear layers whose dimensions are multiples of " +
              std::to_string(size_multiple(options_.recipe)) + " with " + instance_ +
              ".include and " + instance_ + ".exclude, or take it out of model.converters");
    if (const auto warning = forecast_.warning()) titan::sdk::log_warning(*warning);
  }

  void post_optimizer_hook(const titan::sdk::Hook& hook) const {
    if (options_.delayed && hook.info().reason == TITAN_HOOK_STEP)
      update_delayed_states(hook, *linear_);
  }

 private:
  static bool has_bias(const titan::sdk::Module& module) {
    const auto parameters = module.parameters();
    return std::any_of(parameters.begin(), parameters.end(),
                       [](const titan_parameter_info& parameter) {
                         return titan::sdk::to_view(parameter.name) == "bias";
                       });
  }

  /// Why a layer is not converted; empty if it is.
  std::string reason_to_keep(const titan::sdk::Module& module) const {
    const std::string fqn = module.fqn();
    const auto in = static_cast<int64_t>(module.attribute("in_features"));
    const auto out = static_cast<int64_t>(module.attribute("out_features"));
    // Every dimension of a weight is a row of bytes in one of the three products.
    const int64_t multiple = size_multiple(options_.recipe);
    const auto misfit = [&](const char* name, int64_t size) {
      return std::string(name) + " " + std::to_string(size) + " is not a multiple of " +
             std::to_string(multiple);
    };
    std::string reason;
    if (in % multiple != 0 && !options_.pad_inner_dim) reason = misfit("in_features", in);
    if (out % multiple != 0) reason = misfit("out_features", out);
    if (!reason.empty()) {
      if (options_.strict)
        throw titan::sdk::Error(
            TITAN_INVALID_ARGUMENT, fqn + ": " + reason + ", and strict allows no layer to stay",
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
