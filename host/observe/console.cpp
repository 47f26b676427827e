#include "observe/console.h"

#include <cmath>
#include <cstdio>

#include "base/numbers.h"

namespace titan::observe {
namespace {

std::string fixed(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace

std::string console_line(const StepMetrics& metrics, bool color) {
  const auto paint = [&](const char* code, const std::string& text) {
    return color ? std::string("\033[") + code + "m" + text + "\033[39m" : text;
  };
  std::string memory = "memory: " + fixed("%5.2f", static_cast<double>(metrics.memory_peak_bytes) / (1u << 30)) + "GiB";
  if (metrics.memory_total_bytes > 0)
    memory += "(" + fixed("%.0f", 100.0 * static_cast<double>(metrics.memory_peak_bytes) /
                                      static_cast<double>(metrics.memory_total_bytes)) + "%)";
  return paint("31", "step: " + fixed("%2.0f", static_cast<double>(metrics.step))) + "  " +
         paint("32", "loss: " + fixed("%8.5f", metrics.loss)) + "  " +
         paint("38;2;180;60;0", "grad_norm: " + fixed("%7.4f", metrics.grad_norm)) + "  " +
         paint("38;2;54;234;195", memory) + "  " +
         paint("34", "tps: " + with_commas(std::llround(metrics.tps))) + "  " +
         paint("36", "tflops: " + fixed("%.2f", metrics.tflops));
}

}  // namespace titan::observe
