/// What a fuzzer allows its target to throw: nothing but a titan::Error that says how to mend
/// things.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/error.h"

namespace titan::fuzz {

/// Runs the target. Any other exception ends the program, and so does an error without a hint.
template <typename Target>
void allow_errors(const Target& target) {
  try {
    target();
  } catch (const Error& error) {
    if (error.hint().empty() || error.status() == ExitStatus::kInternal) std::abort();
  }
}

inline std::string text_of(const uint8_t* data, size_t size) {
  return std::string(reinterpret_cast<const char*>(data), size);
}

}  // namespace titan::fuzz
