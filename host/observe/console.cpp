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

/// Colours as torchtitan's, or none.
class Paint {
 public:
  explicit Paint(bool color) : color_(color) {}
  std::string operator()(const char* code, const std::string& text) const {
    return color_ ? std::string("\033[").append(code).append("m").append(text).append("\033[39m")
                  : text;
  }

 private:
  bool color_;
};

std::string memory_text(uint64_t peak_bytes, uint64_t total_bytes) {
  const auto peak = static_cast<double>(peak_bytes);
  std::string text = fixed("memory: %5.2fGiB", peak / (1 << 30));
  if (total_bytes > 0) text += fixed("(%.0f%%)", 100.0 * peak / static_cast<double>(total_bytes));
  return text;
}

std::string tps_text(double tps) { return "tps: " + with_commas(std::llround(tps)); }

}  // namespace

std::string console_line(const StepMetrics& metrics, bool color) {
  const Paint paint(color);
  const std::string memory = memory_text(metrics.memory_peak_bytes, metrics.memory_total_bytes);
  return paint("31", fixed("step: %2.0f", static_cast<double>(metrics.step))) + "  " +
         paint("32", fixed("loss: %8.5f", metrics.loss)) + "  " +
         paint("38;2;180;60;0", fixed("grad_norm: %7.4f", metrics.grad_norm)) + "  " +
         paint("38;2;54;234;195", memory) + "  " + paint("34", tps_text(metrics.tps)) + "  " +
         paint("36", fixed("tflops: %.2f", metrics.tflops)) + "  " +
         paint("35", metrics.mfu ? fixed("mfu: %.2f%%", *metrics.mfu) : "mfu: N/A");
}

std::string console_line(const ValidationMetrics& metrics, bool color) {
  const Paint paint(color);
  return paint("32", fixed("validate step: %2.0f", static_cast<double>(metrics.step))) + "  " +
         paint("32", fixed("loss: %8.5f", metrics.loss)) + "  " +
         paint("38;2;54;234;195",
               memory_text(metrics.memory_peak_bytes, metrics.memory_total_bytes)) +
         "  " + paint("34", tps_text(metrics.tps));
}

}  // namespace titan::observe
