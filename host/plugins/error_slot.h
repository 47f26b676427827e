/// The message that goes with a failed call across the boundary. One slot per thread.
#pragma once

#include <titan/status.h>

#include <string>

#include "plugins/rules.h"

namespace titan::plugins {

struct TakenError {
  titan_status status = TITAN_OK;  ///< a number that titan does not know has become TITAN_INTERNAL
  std::string message;             ///< never empty if the status is not TITAN_OK
  std::string hint;                ///< never empty if the status is not TITAN_OK
  Rule rule = Rule::kNone;         ///< kErrorText: the plugin failed without saying why
  bool by_host = false;            ///< a function of the host refused the plugin's call of it
};

/// [any-thread] For slot 0 of the host table. Copies both texts, made printable and at most 4 KiB;
/// never throws. Returns `status`.
titan_status set_error(titan_status status, titan_string message, titan_string hint) noexcept;

/// The same for functions of the host: what the plugin did wrong. Both texts as above.
titan_status set_host_error(titan_status status, titan_string message, titan_string hint) noexcept;

/// Empties the slot of this thread; to be called before a plugin is called.
void clear_error() noexcept;

/// What belongs to `returned`, the status a plugin's function has just returned on this thread, and
/// empties the slot. A failure without a message is described as the plugin's bug.
TakenError take_error(titan_status returned);

/// "invalid argument", "unsupported", ...; "unknown status 42".
std::string status_text(titan_status status);

}  // namespace titan::plugins
