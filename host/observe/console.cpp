#include "observe/console.h"

#include <cmath>

#include "base/numbers.h"

namespace titan::observe {
namespace {

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
  std::string text = "memory: " + fixed_point(peak / (1 << 30), 2, 5) + "GiB";
  if (total_bytes > 0)
    text += "(" + fixed_point(100.0 * peak / static_cast<double>(total_bytes), 0) + "%)";
  return text;
}

std::string tps_text(double tps) { return "tps: " + with_commas(std::llround(tps)); }

}  // namespace

std::string console_line(const StepMetrics& metrics, bool color) {
  const Paint paint(color);
  const std::string memory = memory_text(metrics.memory_peak_bytes, metrics.memory_total_bytes);
  return paint("31", "step: " + fixed_point(static_cast<double>(metrics.step), 0, 2)) + "  " +
         paint("32", "loss: " + fixed_point(metrics.loss, 5, 8)) + "  " +
         paint("38;2;180;60;0", "grad_norm: " + fixed_point(metrics.grad_norm, 4, 7)) + "  " +
         paint("38;2;54;234;195", memory) + "  " + paint("34", tps_text(metrics.tps)) + "  " +
         paint("36", "tflops: " + fixed_point(metrics.tflops, 2)) + "  " +
         paint("35", "mfu: " + (metrics.mfu ? fixed_point(*metrics.mfu, 2) + "%" : "N/A"));
}

std::string console_line(const ValidationMetrics& metrics, bool color) {
  const Paint paint(color);
  return paint("32", "validate step: " + fixed_point(static_cast<double>(metrics.step), 0, 2)) +
         "  " + paint("32", "loss: " + fixed_point(metrics.loss, 5, 8)) + "  " +
         paint("38;2;54;234;195",
               memory_text(metrics.memory_peak_bytes, metrics.memory_total_bytes)) +
         "  " + paint("34", tps_text(metrics.tps));
}

}  // namespace titan::observe
