/// What a plugin registers, kept aside until all of it has been checked.
#pragma once

#include <titan/converter.h>
#include <titan/host.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "plugins/rules.h"

namespace titan::plugins {

/// Why a registration failed, in the host's words.
struct RegistrationProblem {
  titan_status status = TITAN_OK;
  std::string text;
  std::string hint;
  Rule rule = Rule::kNone;
};

}  // namespace titan::plugins

/// The SDK's opaque registrar. Never freed: a plugin that keeps the pointer finds a dead registrar,
/// not freed memory.
struct titan_registrar {
  std::atomic<uint64_t> magic{0};
  std::thread::id thread;
  std::optional<std::string> note;
  std::vector<titan_converter> converters;  ///< names live to process end
  std::optional<titan::plugins::RegistrationProblem> first_problem;
  std::atomic<bool> used_elsewhere{
      false};  ///< another thread tried; its error slot is not this thread's
};

namespace titan::plugins {

/// For the host table, with the signatures of titan_host. Both never throw; what is wrong goes to
/// the error slot and, so that a plugin cannot overlook it, into first_problem.
titan_status registrar_note(titan_registrar* registrar, const void* json, uint64_t size) noexcept;
titan_status registrar_converter(titan_registrar* registrar,
                                 const titan_converter* converter) noexcept;

/// One call of register_converters: the registrar is alive exactly as long as this object.
class Registration {
 public:
  Registration();
  ~Registration() { close(); }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  titan_registrar* handle() { return registrar_; }
  /// From now on every use is answered with TITAN_WRONG_STATE.
  void close();

 private:
  titan_registrar* registrar_;
};

}  // namespace titan::plugins
