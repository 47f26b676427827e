/// The thread-local slot behind titan_host.set_error.
#include "plugins/error_slot.h"

#include <exception>
#include <string_view>
#include <utility>

#include "base/printable.h"

namespace titan::plugins {
namespace {

struct ErrorSlot {
  std::string message;
  std::string hint;
  bool by_host = false;
};

ErrorSlot& error_slot() {
  thread_local ErrorSlot slot;
  return slot;
}

/// NULL with a size is empty; only as much is read as may be printed.
std::string slot_text(titan_string text) {
  constexpr uint64_t kMaxBytes = 4096;
  if (text.data == nullptr) return {};
  const bool cut = text.size > kMaxBytes;
  return printable(std::string_view(text.data, cut ? kMaxBytes : text.size), kMaxBytes) +
         (cut ? "..." : "");
}

bool known_status(titan_status status) { return status >= TITAN_OK && status <= TITAN_REMOVED; }

}  // namespace

namespace {

titan_status fill_slot(titan_status status, titan_string message, titan_string hint,
                       bool by_host) noexcept {
  try {
    ErrorSlot& slot = error_slot();
    slot.by_host = by_host;
    slot.message = slot_text(message);
    slot.hint = slot_text(hint);
  } catch (const std::exception&) {
    // Out of memory: the status alone has to do.
  }
  return status;
}

}  // namespace

titan_status set_error(titan_status status, titan_string message, titan_string hint) noexcept {
  return fill_slot(status, message, hint, false);
}

titan_status set_host_error(titan_status status, titan_string message, titan_string hint) noexcept {
  return fill_slot(status, message, hint, true);
}

void clear_error() noexcept {
  error_slot().message.clear();
  error_slot().hint.clear();
  error_slot().by_host = false;
}

TakenError take_error(titan_status returned) {
  TakenError taken;
  ErrorSlot& slot = error_slot();
  taken.message = std::exchange(slot.message, {});
  taken.hint = std::exchange(slot.hint, {});
  taken.by_host = std::exchange(slot.by_host, false);
  if (returned == TITAN_OK) return {};
  taken.status = known_status(returned) ? returned : TITAN_INTERNAL;
  if (taken.message.empty()) {
    taken.message = "it failed (" + status_text(returned) +
                    ") without saying why, which is a defect of the plugin";
    taken.hint = "report it to the plugin's author: set_error goes before every failing return";
    taken.rule = Rule::kErrorText;
    taken.by_host = false;
  } else if (taken.hint.empty()) {
    taken.hint = taken.by_host ? "this is a defect of the plugin: report it to its author"
                               : "see the plugin's documentation, or report it to its author";
  }
  return taken;
}

std::string status_text(titan_status status) {
  switch (status) {
    case TITAN_OK: return "ok";
    case TITAN_INVALID_ARGUMENT: return "invalid argument";
    case TITAN_UNSUPPORTED: return "unsupported";
    case TITAN_NOT_FOUND: return "not found";
    case TITAN_WRONG_STATE: return "wrong state";
    case TITAN_FAILED: return "failed";
    case TITAN_INTERNAL: return "internal error";
    case TITAN_REMOVED: return "function removed";
    default: return "unknown status " + std::to_string(status);
  }
}

}  // namespace titan::plugins
