/// What mfu is measured against in a run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/option_schema.h"
#include "converters/device_facts.h"
#include "converters/registry.h"

namespace titan::train {

struct MfuPeak {
  std::optional<double> flops;  ///< per second; absent: mfu is not reported
  std::string text;             ///< for the log: the peak, or why there is none
};

/// The fp8 peak of the device if an applied converter declares that it multiplies in float8, else
/// its bfloat16 peak.
MfuPeak mfu_peak(const converters::DeviceFacts& device, const converters::Registry& registry,
                 const std::vector<config::ConverterRequest>& applied);

}  // namespace titan::train
