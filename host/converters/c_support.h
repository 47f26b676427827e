/// Small things every slot of the host table needs: strings, sizes, errors across the boundary.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <map>
#include <string>
#include <string_view>

#include <c10/util/Exception.h>

#include <new>
#include <stdexcept>

#include "base/error.h"
#include "plugins/error_slot.h"
#include "titan/host.h"

namespace titan::converters {

inline std::string_view view_of(titan_string text) {
  return text.data ? std::string_view(text.data, text.size) : std::string_view();
}
inline titan_string c_string(std::string_view text) { return {text.data(), text.size()}; }

inline titan_status fail(titan_status status, std::string_view message,
                         std::string_view hint = {}) {
  return plugins::set_host_error(status, c_string(message), c_string(hint));
}

/// Size of a struct in the level that it came with: the least that a plugin can give. Here are
/// those that have grown since.
template <class T>
inline constexpr uint32_t kFirstSize = sizeof(T);
template <>
inline constexpr uint32_t kFirstSize<titan_create_info> = 32;
template <>
inline constexpr uint32_t kFirstSize<titan_hook_info> = 16;

/// Copies the first min(host's size, plugin's size) bytes of `value` to `out`, keeping the size
/// that the plugin wrote. Refuses sizes that no level of the contract has.
template <class T>
titan_status copy_out(const T& value, T* out, const char* name) {
  if (!out) return fail(TITAN_INVALID_ARGUMENT, std::string(name) + ": out is NULL");
  const uint32_t given = out->struct_size;
  if (given < kFirstSize<T> || given > 65536 || given % 8 != 0)
    return fail(TITAN_INVALID_ARGUMENT,
                std::string(name) + ": struct_size is " + std::to_string(given) + ", at least " +
                    std::to_string(kFirstSize<T>) + " is needed",
                "initialise the struct with TITAN_SIZED(type)");
  T filled = value;
  filled.struct_size = given;
  std::memcpy(out, &filled, std::min<size_t>(given, sizeof(T)));
  return TITAN_OK;
}

/// Checks a struct that a plugin passes in: size, and zero bytes beyond what this host knows.
template <class T>
titan_status check_in(const T* value, const char* name, uint32_t least = sizeof(T)) {
  if (!value) return fail(TITAN_INVALID_ARGUMENT, std::string(name) + " is NULL");
  const uint32_t given = value->struct_size;
  if (given < least || given > 65536 || given % 8 != 0)
    return fail(TITAN_INVALID_ARGUMENT,
                std::string(name) + ": struct_size is " + std::to_string(given) + ", at least " +
                    std::to_string(least) + " and a multiple of 8 is needed",
                "initialise the struct with TITAN_SIZED(type)");
  const auto* bytes = reinterpret_cast<const unsigned char*>(value);
  for (uint32_t i = sizeof(T); i < given; ++i)
    if (bytes[i] != 0)
      return fail(TITAN_INVALID_ARGUMENT,
                  std::string(name) + " uses fields that this titan does not know",
                  "update titan, or build the plugin for an older TITAN_API_VERSION");
  return TITAN_OK;
}

/// Metrics end up as keys of JSON lines and on dashboards.
inline titan_status check_metric_name(const char* function, titan_string name,
                                      const std::map<std::string, double>* metrics) {
  constexpr size_t kMostMetrics = 20000;
  const std::string_view text = view_of(name);
  bool legal = !text.empty() && text.size() <= 128;
  for (size_t i = 0; legal && i < text.size(); ++i)
    legal = text[i] > ' ' && text[i] < 0x7f && text[i] != '"' && text[i] != '\\';
  if (!legal)
    return fail(TITAN_INVALID_ARGUMENT,
                std::string(function) +
                    ": the name is not 1 to 128 printable ASCII characters without blanks, quotes "
                    "and backslashes",
                "use names such as \"amax\" or \"input.scale\"");
  if (metrics && metrics->size() >= kMostMetrics)
    return fail(TITAN_INVALID_ARGUMENT,
                std::string(function) + ": this step has " + std::to_string(kMostMetrics) +
                    " metrics already",
                "report fewer, for fewer modules or less often");
  return TITAN_OK;
}

/// Runs a slot's body; nothing thrown inside the host crosses into the plugin.
template <class Body>
titan_status slot(Body&& body) noexcept {
  try {
    return body();
  } catch (const Error& error) {
    return fail(TITAN_INVALID_ARGUMENT, error.what(), error.hint());
  } catch (const c10::Error& error) {
    return fail(TITAN_FAILED, error.what_without_backtrace(),
                "check shapes, types, devices and memory before the call");
  } catch (const std::bad_alloc&) {
    return fail(TITAN_FAILED, "out of memory, or a size that cannot be",
                "check the sizes of strings and tensors");
  } catch (const std::length_error&) {
    return fail(TITAN_INVALID_ARGUMENT, "a string has a size that cannot be",
                "give its length in bytes");
  } catch (const std::exception& error) {
    return fail(TITAN_INTERNAL, error.what());
  } catch (...) {
    return fail(TITAN_INTERNAL, "an exception of unknown type in the host");
  }
}

}  // namespace titan::converters
