/// Errors of the C++ layer, and the guard that keeps exceptions inside the plugin.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "../host.h"

namespace titan::sdk {

/// The host's table; set once by register_converters, valid to process end.
inline const titan_host*& host_pointer() noexcept {
  static const titan_host* pointer = nullptr;
  return pointer;
}
inline const titan_host& host() noexcept { return *host_pointer(); }

/// Whether the host has this function of the table, which may be newer than the host:
/// `if (host_has(&titan_host::record_prediction)) ...`. Those of level `api_min` are always there.
template <class Function>
bool host_has(Function titan_host::*function) noexcept {
  static const titan_host
      layout{};  // for the function's place: the host's own table may end before it
  const auto* const end = reinterpret_cast<const char*>(&(layout.*function) + 1);
  return end - reinterpret_cast<const char*>(&layout) <= static_cast<ptrdiff_t>(host().struct_size);
}

inline titan_string to_string(std::string_view text) noexcept { return {text.data(), text.size()}; }
inline std::string_view to_view(titan_string text) noexcept {
  return text.data ? std::string_view(text.data, text.size) : std::string_view();
}

/// Thrown by a plugin: what is wrong and how to cure it. `status` is one of TITAN_...
class Error : public std::runtime_error {
 public:
  /// TITAN_OK is no error: it would report a success that there was not.
  Error(titan_status status, const std::string& message, std::string hint = {})
      : std::runtime_error(message),
        status_(status == TITAN_OK ? TITAN_INTERNAL : status),
        hint_(std::move(hint)) {}
  titan_status status() const noexcept { return status_; }
  const std::string& hint() const noexcept { return hint_; }

 private:
  titan_status status_;
  std::string hint_;
};

/// A function of the host failed. The host has its own message already.
class HostError : public std::exception {
 public:
  explicit HostError(titan_status status) noexcept
      : status_(status == TITAN_OK ? TITAN_INTERNAL : status) {}
  const char* what() const noexcept override { return "a function of the titan host failed"; }
  titan_status status() const noexcept { return status_; }

 private:
  titan_status status_;
};

inline void check(titan_status status) {
  if (status != TITAN_OK) throw HostError(status);
}

/// Runs `body` and turns whatever it throws into a status and a message.
/// Why here and not in the host: a plugin may carry its own C++ runtime, and an exception that
/// meets another unwinder ends the process without a word.
template <class Body>
titan_status guard(Body&& body) noexcept {
  try {
    body();
    return TITAN_OK;
  } catch (const HostError& error) {
    return error.status();
  } catch (const Error& error) {
    return host().set_error(error.status(), to_string(error.what()), to_string(error.hint()));
  } catch (const std::exception& error) {
    return host().set_error(TITAN_FAILED, to_string(error.what()), {nullptr, 0});
  } catch (...) {
    return host().set_error(TITAN_FAILED, TITAN_STR("an exception of unknown type"), {nullptr, 0});
  }
}

inline void log_info(std::string_view text) { host().log(1, to_string(text)); }
inline void log_warning(std::string_view text) { host().log(2, to_string(text)); }

}  // namespace titan::sdk
