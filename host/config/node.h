/// A value as the user wrote it, before its type is known, and where it was written.
#pragma once

#include <string>
#include <vector>

namespace titan::config {

/// The key of a map entry.
struct NodeKey {
  std::string text;
  std::string where;
  bool operator==(const NodeKey&) const = default;
};

/// A tree of values from a YAML file or from one command-line option. Maps keep the order of the
/// file; no key occurs twice.
struct Node {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  std::string text;           ///< of a scalar
  bool quoted = false;        ///< a scalar in quotes (or a block scalar): always text
  bool command_line = false;  ///< then booleans may be spelled 1/0, on/off, yes/no
  std::string where;          ///< "debug.yaml:12:3" or the option, "--optimizer.lr=0.1"
  std::vector<Node> items;    ///< of a list, or the values of a map
  std::vector<NodeKey> keys;  ///< of a map: keys[i] belongs to items[i]

  bool operator==(const Node&) const = default;

  /// "null", "'text'", "a list", "a map": how a message names what was found.
  std::string describe() const;
};

}  // namespace titan::config
