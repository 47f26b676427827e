#include "observe/console.h"

#include <cmath>
#include <cstdio>

#include "base/numbers.h"

namespace titan::observe {
namespace {

/// `format` holds one %f; long enough for any double.
std::string fixed(const char* format, double value) {
  char text[400];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace

std::string console_line(const StepMetrics& metrics, bool color) {
  const auto paint = [&](const char* code, const std::string& text) {
    return color ? std::string("\033[").append(code).append("m").append(text).append("\033[39m")
                 : text;
  };
  const double peak = static_cast<double>(metrics.memory_peak_bytes);
  std::string memory = fixed("memory: %5.2fGiB", peak / (1 << 30));
  if (metrics.memory_total_bytes > 0)
    memory += fixed("(%.0f%%)", 100.0 * peak / static_cast<double>(metrics.memory_total_bytes));
  return paint("31", fixed("step: %2.0f", static_cast<double>(metrics.step))) + "  " +
         paint("32", fixed("loss: %8.5f", metrics.loss)) + "  " +
         paint("38;2;180;60;0", fixed("grad_norm: %7.4f", metrics.grad_norm)) + "  " +
         paint("38;2;54;234;195", memory) + "  " +
         paint("34", "tps: " + with_commas(std::llround(metrics.tps))) + "  " +
         paint("36", fixed("tflops: %.2f", metrics.tflops));
}

}  // namespace titan::observe
