#include "train/mfu_peak.h"

#include <algorithm>
#include <cmath>

#include "base/numbers.h"
#include "observe/peak_flops.h"

namespace titan::train {

MfuPeak mfu_peak(const converters::DeviceFacts& device, const converters::Registry& registry,
                 const std::vector<config::ConverterRequest>& applied) {
  const bool float8 = std::any_of(applied.begin(), applied.end(), [&](const auto& request) {
    const converters::RegisteredConverter* converter = registry.find(request.converter);
    return converter && converter->schema.matrix_type == "float8";
  });
  const std::string type = float8 ? "float8" : "bfloat16";
  MfuPeak peak;
  if (device.cuda)
    peak.flops = observe::peak_flops(
        device.name, float8 ? observe::MatrixType::kFloat8 : observe::MatrixType::kBfloat16);
  if (peak.flops)
    peak.text = "mfu is measured against " + with_commas(std::llround(*peak.flops / 1e12)) +
                " TFLOPS, the " + type + " peak of " + device.name;
  else
    peak.text = "mfu is not reported (N/A): the " + type + " peak of device '" + device.name +
                "' is not known";
  return peak;
}

}  // namespace titan::train
