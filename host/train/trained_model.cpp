#include "train/trained_model.h"

#include <ATen/core/Tensor.h>

#include "base/error.h"
#include "base/numbers.h"
#include "train/initial_weights.h"
#include "train/model_args.h"
#include "train/precision.h"
#include "train/random_state.h"

namespace titan::train {
namespace {

void require_room_for_weights(model::Module& root, const converters::DeviceFacts& device) {
  uint64_t bytes = 0;
  for (const auto& named : model::named_parameters(root)) bytes += named.parameter->tensor.nbytes();
  for (const auto& named : model::named_buffers(root)) bytes += named.buffer->tensor.nbytes();
  if (device.memory_bytes == 0 || bytes <= device.memory_bytes) return;
  throw environment_error(
      "the weights need " + gib(bytes) + ", the device has " + gib(device.memory_bytes),
      device.name, "set --training.dtype=bfloat16, or use a machine with more memory");
}

}  // namespace

model::CallContext TrainedModel::context(int64_t step) const {
  model::CallContext context;
  context.step = step;
  context.mixed_precision = mixed_precision.get();
  return context;
}

TrainedModel load_trained_model(const config::Config& config, const model::TrainSpec& spec,
                                const converters::Registry& registry,
                                const std::vector<config::ConverterRequest>& requests,
                                const Device& device, int64_t step) {
  TrainedModel made;
  made.args = whole_model_args(spec, config.model);
  made.converters = std::make_unique<converters::ModelConvertersContainer>(
      registry, requests, device.facts, run_facts(config.training));
  made.mixed_precision = make_mixed_precision(config.training);
  made.root = spec.build(made.args, parameter_type(config.training));
  made.converters->convert(*made.root);
  require_room_for_weights(*made.root, device.facts);
  model::materialize(*made.root, device.device, static_cast<uint64_t>(config.training.seed));
  seed_generators(device.device, config.training.seed);
  const InitialWeights weights = load_initial_weights(*made.root, spec, made.args, config);
  // What was computed from the initial values is of no use any more.
  if (weights.loaded)
    model::visit_modules(*made.root, [](model::Module& module) { module.drop_caches(); });
  made.converters->after_init(
      *made.root, weights.loaded ? converters::HookReason::kLoaded : converters::HookReason::kFresh,
      weights.missing, nullptr, step);
  // The hooks of the run that saved these weights have done their work in them.
  if (step > 0 && made.converters->has_hooks())
    put_back_initial_weights(*made.root, spec, made.args, config);
  return made;
}

}  // namespace titan::train
