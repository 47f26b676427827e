/// The host table that a plugin under test gets: every call goes on to the real one, is counted,
/// and can be made to fail.
#pragma once

#include <cstdint>
#include <string>

#include "titan/host.h"

namespace titan::conformance {

/// What went through the table since reset(). Read it while no plugin code runs.
struct ProbeRecord {
  int64_t calls = 0;          ///< of functions that can fail
  int64_t tensors_made = 0;   ///< by tensor_empty and tensor_from_dl
  int64_t refused_uses = 0;   ///< answers TITAN_WRONG_STATE: dead handles, foreign threads
  std::string first_refusal;  ///< what the host said to the first of them
  std::string injected;       ///< the function that was made to fail; empty: none was
  bool plugin_said = false;   ///< the plugin has called set_error
  titan_status said_status = TITAN_OK;  ///< status of its last set_error
};

/// The table. Valid to process end; one for the whole process.
const titan_host& probed_host();

void reset_probe();
ProbeRecord probe_record();

/// Call number `number` (1-based, counted from now on) fails with TITAN_FAILED and a message,
/// without reaching the host. 0: none.
void fail_call(int64_t number);

/// A table as a host of API level 1 has it, in memory that ends where the table ends: a plugin that
/// reads past it crashes. Extensions are unknown to it.
const titan_host& oldest_host();
/// A table of a later level with functions that no plugin of today knows behind today's.
const titan_host& later_host();

/// "injected failure": part of every message that fail_call() causes.
inline constexpr const char* kInjectedText = "injected failure";

}  // namespace titan::conformance
