/// Checks a titan_converter that a plugin handed over, before anything in it is used.
#pragma once

#include <titan/converter.h>

#include <string>

#include "plugins/rules.h"

namespace titan::plugins {

/// Size of titan_converter at API level 1: the least that a plugin can give.
inline constexpr uint32_t kConverterV1Size = 64;
inline constexpr uint32_t kMaxStructSize = 64 * 1024;

struct CheckedConverter {
  titan_converter
      table{};  ///< copy; fields that the plugin does not know are zero; name is not set
  std::string name;
  std::string problem;  ///< empty: all is well
  std::string hint;
  Rule rule = Rule::kNone;
};

CheckedConverter check_converter(const titan_converter* given);

}  // namespace titan::plugins
