/// Turns the dynamic loader's text into a reason and a cure.
#pragma once

#include <string>
#include <string_view>

namespace titan::plugins {

struct LoadText {
  std::string reason;  ///< "needs libfoo.so.3, which was not found"
  std::string hint;
};

/// `raw` is what Boost.DLL threw: the loader's text with a prefix and an errno text that has
/// nothing to do with the cause.
LoadText explain_load_failure(std::string_view raw, std::string_view path);

}  // namespace titan::plugins
