#include "observe/console.h"

#include <cmath>

#include "base/numbers.h"

namespace titan::observe {
std::string console_line(const StepMetrics& metrics, bool color) {
  const auto paint = [&](const char* code, const std::string& text) {
    return color ? std::string("\033[").append(code).append("m").append(text).append("\033[39m")
                 : text;
  };
  const double peak = static_cast<double>(metrics.memory_peak_bytes);
  std::string memory = "memory: " + fixed_point(peak / (1 << 30), 2, 5) + "GiB";
  if (metrics.memory_total_bytes > 0)
    memory += "(" + fixed_point(100.0 * peak / static_cast<double>(metrics.memory_total_bytes), 0) + "%)";
  return paint("31", "step: " + fixed_point(static_cast<double>(metrics.step), 0, 2)) + "  " +
         paint("32", "loss: " + fixed_point(metrics.loss, 5, 8)) + "  " +
         paint("38;2;180;60;0", "grad_norm: " + fixed_point(metrics.grad_norm, 4, 7)) + "  " +
         paint("38;2;54;234;195", memory) + "  " +
         paint("34", "tps: " + with_commas(std::llround(metrics.tps))) + "  " +
         paint("36", "tflops: " + fixed_point(metrics.tflops, 2));
}

}  // namespace titan::observe
