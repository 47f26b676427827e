/// The kinds of modules that are part of the plugin contract: names of inputs, optional ones last.
#pragma once

#include <string_view>
#include <vector>

namespace titan::model {

struct KindInput {
  std::string_view name;
  bool optional = false;
};

/// Every kind has one output, named "y" (the decoder's is called "logits" in texts).
struct Kind {
  std::string_view name;
  std::vector<KindInput> inputs;
  /// Under mixed precision its x and parameters are in the narrower type; see mixed_precision.h.
  bool mixed_precision = false;
};

/// The kind of that name, or null. The names equal TITAN_KIND_... of sdk/include/titan/model.h,
/// where inputs, shapes and attributes are documented.
const Kind* find_kind(std::string_view name);

}  // namespace titan::model
