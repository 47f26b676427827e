#include "plugins/process_state.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cfenv>
#include <climits>
#include <clocale>
#include <cstring>
#include <fstream>
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

mode_t file_mode_mask() {
  // umask() can only be read by setting it, which another thread would see; the kernel also writes
  // it down.
  if (std::ifstream status("/proc/self/status"); status) {
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("Umask:"))
        return static_cast<mode_t>(std::stoul(line.substr(6), nullptr, 8));
  }
  const mode_t mask = umask(0);
  umask(mask);
  return mask;
}

SignalsAndFiles::Place SignalsAndFiles::place_of(int descriptor) {
  struct stat found {};
  if (fstat(descriptor, &found) != 0) return {false, 0, 0};
  return {true, found.st_dev, found.st_ino};
}

SignalsAndFiles::SignalsAndFiles() {
  std::memset(actions_, 0, sizeof actions_);
  for (int number = 1; number < 64; ++number) sigaction(number, nullptr, &actions_[number]);
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked_);
  umask_ = file_mode_mask();
  for (int descriptor = 0; descriptor < 3; ++descriptor)
    standard_[descriptor] = place_of(descriptor);
}

std::string SignalsAndFiles::restore() const {
  std::string changed;
  const auto add = [&changed](const std::string& what) {
    changed += (changed.empty() ? "" : " and ") + what;
  };
  for (int number = 1; number < 64; ++number) {
    struct sigaction now = {};
    if (sigaction(number, nullptr, &now) != 0 || now.sa_sigaction == actions_[number].sa_sigaction)
      continue;
    sigaction(number, &actions_[number], nullptr);
    add("the handling of signal " + std::to_string(number));
  }
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  for (int number = 1; number < 64; ++number)
    if (sigismember(&blocked, number) != sigismember(&blocked_, number)) {
      pthread_sigmask(SIG_SETMASK, &blocked_, nullptr);
      add("the signals that are held back");
      break;
    }
  if (file_mode_mask() != umask_) {
    umask(umask_);
    add("the umask");
  }
  const char* names[] = {"standard input", "standard output", "standard error"};
  for (int descriptor = 0; descriptor < 3; ++descriptor) {
    const Place before = standard_[descriptor], now = place_of(descriptor);
    if (before.open != now.open || before.device != now.device || before.inode != now.inode)
      add(names[descriptor]);
  }
  return changed;
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
  if (const std::string more = signals_and_files_.restore(); !more.empty()) add(more.c_str());
  return changed;
}

}  // namespace titan::plugins
