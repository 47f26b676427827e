#include "conformance/process_facts.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cfenv>
#include <clocale>
#include <cstdio>
#include <filesystem>
#include <span>
#include <vector>

#include "base/printable.h"
#include "plugins/process_state.h"
#include "plugins/sha256.h"

namespace titan::conformance {
namespace {

std::string digest_of_text(const std::string& text) {
  return plugins::sha256_hex(std::as_bytes(std::span(text.data(), text.size()))).substr(0, 12);
}

std::string environment_text() {
  std::vector<std::string> variables;
  for (char** variable = environ; variable && *variable; ++variable)
    variables.emplace_back(*variable);
  std::sort(variables.begin(), variables.end());
  std::string text;
  for (const std::string& variable : variables) text += variable + "\n";
  return std::to_string(variables.size()) + " variables, digest " + digest_of_text(text);
}

/// Open descriptors and what they lead to. The one that lists them is gone by then.
std::string descriptor_text() {
  std::vector<std::string> open;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry.path(), gone);
    if (!gone && target.string().rfind("/proc/", 0) != 0)
      open.push_back(entry.path().filename().string() + " " + target.string());
  }
  std::sort(open.begin(), open.end());
  std::string text;
  for (const std::string& line : open) text += (text.empty() ? "" : "; ") + printable(line, 80);
  return text;
}

int64_t thread_count() {
  int64_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    ++count;
  return count;
}

std::string handler_text(int signal) {
  struct sigaction action {};
  if (sigaction(signal, nullptr, &action) != 0) return "unknown";
  if (action.sa_handler == SIG_DFL) return "default";
  if (action.sa_handler == SIG_IGN) return "ignored";
  char address[32];
  std::snprintf(address, sizeof address, "%p", reinterpret_cast<void*>(action.sa_handler));
  return std::string("the function at ") + address;
}

std::string float_modes_text() {
  std::string text = "rounding " + std::to_string(std::fegetround());
#if defined(__x86_64__)
  constexpr unsigned kFlush = 0x8040;
  text += (__builtin_ia32_stmxcsr() & kFlush) ? ", small numbers flushed to zero"
                                              : ", small numbers kept";
#endif
  return text;
}

std::string random_text() {
  const at::Tensor state = at::detail::getDefaultCPUGenerator().get_state();
  return digest_of_text(
      std::string(reinterpret_cast<const char*>(state.const_data_ptr()), state.nbytes()));
}

}  // namespace

ProcessFacts ProcessFacts::now(bool random) {
  ProcessFacts now;
  auto& facts = now.facts;
  const char* locale = std::setlocale(LC_ALL, nullptr);
  facts["the locale"] = locale ? locale : "unknown";
  facts["the floating-point modes"] = float_modes_text();
  std::error_code gone;
  facts["the working directory"] = std::filesystem::current_path(gone).string();
  facts["the umask"] = std::to_string(plugins::file_mode_mask());
  facts["the environment"] = environment_text();
  facts["the open descriptors"] = descriptor_text();
  facts["the number of threads"] = std::to_string(thread_count());
  for (int signal = 1; signal < 32; ++signal)
    facts[std::string("the handler of signal ") + std::to_string(signal) + " (" +
          strsignal(signal) + ")"] = handler_text(signal);
  sigset_t blocked;
  sigemptyset(&blocked);
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  std::string list;
  for (int signal = 1; signal < 32; ++signal)
    if (sigismember(&blocked, signal) == 1) list += " " + std::to_string(signal);
  facts["the blocked signals"] = "none but" + list;
  facts["torch's default type"] = c10::toString(c10::get_default_dtype_as_scalartype());
  facts["torch's number of threads"] = std::to_string(at::get_num_threads());
  facts["torch's gradient mode"] = c10::GradMode::is_enabled() ? "on" : "off";
  facts["torch's inference mode"] = c10::InferenceMode::is_enabled() ? "on" : "off";
  facts["torch's deterministic algorithms"] =
      at::globalContext().deterministicAlgorithms() ? "on" : "off";
  facts["torch's autocast"] = at::autocast::is_autocast_enabled(at::kCPU) ? "on" : "off";
  if (random) facts["torch's random numbers"] = random_text();
  return now;
}

std::string ProcessFacts::difference(const ProcessFacts& later) const {
  std::string text;
  for (const auto& [name, value] : facts) {
    const auto other = later.facts.find(name);
    if (other == later.facts.end() || other->second == value) continue;
    text += (text.empty() ? "" : ", ") + name + " (" + value + ", now " + other->second + ")";
  }
  return text;
}

}  // namespace titan::conformance
