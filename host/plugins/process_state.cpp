#include "plugins/process_state.h"

#include <unistd.h>

#include <cfenv>
#include <climits>
#include <clocale>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace titan::plugins {
namespace {

/// Rounding (13, 14), flush-to-zero (15), denormals-are-zero (6), exception masks (7..12); the rest
/// are flags that any operation sets.
constexpr uint32_t kSseControl = 0xffc0;

std::string working_folder() {
  std::vector<char> path(PATH_MAX);
  return getcwd(path.data(), path.size()) ? path.data() : "";
}

}  // namespace

FloatModes FloatModes::current() {
  FloatModes modes;
#if defined(__x86_64__)
  modes.sse_ = _mm_getcsr() & kSseControl;
  __asm__ volatile("fnstcw %0" : "=m"(modes.x87_));
#endif
  modes.rounding_ = std::fegetround();
  return modes;
}

void FloatModes::restore() const {
  std::fesetround(rounding_);
#if defined(__x86_64__)
  __asm__ volatile("fldcw %0" : : "m"(x87_));
  _mm_setcsr((_mm_getcsr() & ~kSseControl) | sse_);
#endif
}

std::string FloatModes::difference(const FloatModes& now) const {
  constexpr uint32_t kFlush = 0x8040;
  if (rounding_ != now.rounding_) return "the rounding mode";
  if ((sse_ & kFlush) != (now.sse_ & kFlush)) return "the flushing of small numbers to zero";
  return *this == now ? "" : "the floating-point environment";
}

ProcessState::ProcessState() : float_modes_(FloatModes::current()), folder_(working_folder()) {
  if (const char* name = std::setlocale(LC_ALL, nullptr)) locale_ = name;
}

std::string ProcessState::restore() const {
  std::string changed = float_modes_.difference(FloatModes::current());
  const auto add = [&changed](const char* what) {
    changed += std::string(changed.empty() ? "" : " and ") + what;
  };
  if (!changed.empty()) float_modes_.restore();
  const char* locale = std::setlocale(LC_ALL, nullptr);
  if (locale && locale_ != locale) {
    std::setlocale(LC_ALL, locale_.c_str());
    add("the locale");
  }
  if (!folder_.empty() && working_folder() != folder_) {
    if (chdir(folder_.c_str()) == 0) add("the working directory");
  }
  return changed;
}

}  // namespace titan::plugins
