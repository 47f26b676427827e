#include "model/random_scope.h"

#include <ATen/Context.h>
#include <ATen/core/Generator.h>

#include <mutex>

namespace titan::model {

RandomStates RandomStates::current(at::Device device) {
  RandomStates states;
  states.keep(at::kCPU);
  if (!device.is_cpu() && !device.is_meta()) states.keep(device);
  return states;
}

void RandomStates::restore() const {
  for (const auto& [device, state] : states_) {
    at::Generator generator = at::globalContext().defaultGenerator(device);
    const std::lock_guard<std::mutex> lock(generator.mutex());
    generator.set_state(state);
  }
}

void RandomStates::keep(at::Device device) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  states_.emplace_back(device, generator.get_state());
}

}  // namespace titan::model
