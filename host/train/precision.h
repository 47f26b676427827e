/// The numeric types of a run: what parameters are stored in and what matrices are multiplied in.
#pragma once

#include <c10/core/ScalarType.h>

#include <memory>
#include <string>

#include "config/config.h"
#include "converters/run_facts.h"
#include "model/mixed_precision.h"

namespace titan::train {

/// training.dtype: parameters, their gradients and the optimizer's state.
c10::ScalarType parameter_type(const config::Training& training);

/// For training.mixed_precision_param; null when matrices are multiplied in the parameters' type.
std::unique_ptr<model::MixedPrecision> make_mixed_precision(const config::Training& training);

/// What converters are told about the run: its types, and the tokens of a micro-batch.
converters::RunFacts run_facts(const config::Training& training);

/// "parameters in float32, linear layers and attention in bfloat16"
std::string describe_precision(const config::Training& training);

}  // namespace titan::train
