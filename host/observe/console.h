/// The lines of a step and of a validation on the console, in torchtitan's order.
#pragma once

#include <string>

#include "observe/step_metrics.h"

namespace titan::observe {

/// "step:  1  loss:  8.13756  grad_norm:  1.2345  memory:  0.40GiB(2%)  tps: 3,190  tflops: 0.23
/// mfu: 4.56%" (N/A without a known peak), with torchtitan's colours if `color`.
std::string console_line(const StepMetrics& metrics, bool color);

/// "validate step:  1  loss:  8.13756  memory:  0.40GiB(2%)  tps: 3,190"
std::string console_line(const ValidationMetrics& metrics, bool color);

}  // namespace titan::observe
