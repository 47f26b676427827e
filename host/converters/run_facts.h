/// Facts about the run that converters are told when they are created, beside the device.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>

namespace titan::converters {

struct RunFacts {
  int64_t tokens_per_call = 0;  ///< of one forward call of the model; 0: not known
  at::ScalarType compute_type = at::ScalarType::Float;  ///< what linears compute in
  at::ScalarType parameter_type =
      at::ScalarType::Float;  ///< what the model's parameters are kept in
};

}  // namespace titan::converters
