#include "model/kinds.h"

#include <array>

namespace titan::model {

const Kind* find_kind(std::string_view name) {
  static const std::array<Kind, 8> kinds = {{
      {"linear", {{"x"}}, true},
      {"rms_norm", {{"x"}}},
      {"embedding", {{"ids"}}},
      {"attention", {{"x"}, {"rope"}, {"positions", true}, {"document_ids", true}}, true},
      {"qk_norm_attention", {{"x"}, {"rope"}, {"positions", true}, {"document_ids", true}}, true},
      {"feed_forward", {{"x"}}, true},
      {"block", {{"x"}, {"rope"}, {"positions", true}, {"document_ids", true}}},
      {"decoder", {{"tokens"}}},
  }};
  for (const Kind& kind : kinds)
    if (kind.name == name) return &kind;
  return nullptr;
}

}  // namespace titan::model
