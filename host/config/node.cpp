#include "config/node.h"

namespace titan::config {

std::string Node::describe() const {
  constexpr size_t kLongest = 60;
  switch (kind) {
    case Kind::kNull: return "nothing (null)";
    case Kind::kList: return "a list";
    case Kind::kMap: return "a map";
    case Kind::kScalar: break;
  }
  const std::string shown = text.size() > kLongest ? text.substr(0, kLongest) + "..." : text;
  return quoted ? "the quoted text \"" + shown + "\"" : "'" + shown + "'";
}

}  // namespace titan::config
