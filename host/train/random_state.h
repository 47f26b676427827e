/// The random number generators that operators draw from during training.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <map>
#include <string>

namespace titan::train {

/// Initial weights do not come from these generators (see model/init.h); what modules draw does.
void seed_generators(at::Device device, int64_t seed);

/// By name ("cpu", "cuda"), as hexadecimal digits.
std::map<std::string, std::string> generator_states(at::Device device);

/// Throws a data error that names `where` if a state is missing or damaged.
void restore_generators(at::Device device, const std::map<std::string, std::string>& states,
                        const std::string& where);

}  // namespace titan::train
