/// What the device is, and the two figures that all others are held against: bandwidth and rate in
/// bfloat16.
#include <cmath>

#include "matrices.h"
#include "parts.h"

namespace titan::device_check {

void describe_device(Platform& platform, Report& report) {
  report.begin("device");
  report.facts() = platform.describe();
  report.facts()["state_before"] = platform.state_now();
  const int64_t count = platform.is_gpu() ? int64_t{1} << 30 : 1 << 16;
  {
    const Matrix from = empty_on_device(platform, 1, count, ScalarType::Byte);
    Matrix to = empty_on_device(platform, 1, count, ScalarType::Byte);
    const std::vector<double> samples = platform.time([&] { torch::stable::copy_(to, from); }, {});
    report.facts()["copy_ms"] = samples;
    // Bytes read and bytes written.
    report.facts()["copy_bytes_per_s"] =
        2.0 * static_cast<double>(count) / (median(samples) * 1e-3);
  }
  const int64_t size = platform.is_gpu() ? 8192 : 64;
  const Matrix a = random_on_device(platform, size, size, ScalarType::BFloat16),
               b = random_on_device(platform, size, size, ScalarType::BFloat16);
  const std::vector<double> samples = platform.time([&] { torch_product(a, b); }, {});
  report.facts()["bfloat16_ms"] = samples;
  report.facts()["bfloat16_size"] = size;
  const double rate = tflops_of_cube(size, median(samples));
  report.facts()["bfloat16_tflops"] = rate;
  report.facts()["state_loaded"] = platform.state_now();
  report.say("  " + platform.facts().name + ", compute capability " +
             report.facts().at("capability").text() + ", cuBLASLt " +
             std::to_string(platform.facts().cublaslt_version) + ", torch " +
             report.facts().at("torch").text());
  report.say("  copy " + digits(report.facts().at("copy_bytes_per_s").number() / 1e9, 0) +
             " GB/s, bfloat16 product of " + std::to_string(size) + "^3 " + digits(rate, 0) +
             " TFLOP/s");
  report.check("the device computes", std::isfinite(rate) && rate > 0,
               digits(rate, 3) + " TFLOP/s in bfloat16", "a rate");
}

}  // namespace titan::device_check
