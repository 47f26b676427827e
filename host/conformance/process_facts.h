/// What a whole process has in common: settings that plugin code must leave as it found them.
#pragma once

#include <map>
#include <string>

namespace titan::conformance {

/// By name ("the locale"), as text.
struct ProcessFacts {
  std::map<std::string, std::string> facts;

  /// Of this process and thread, now. The state of torch's random numbers is taken too if `random`.
  static ProcessFacts now(bool random);
  /// "the locale (C, now C.UTF-8)" of the first facts that differ; empty: all are the same. Facts
  /// that only one of both has do not count.
  std::string difference(const ProcessFacts& later) const;
};

}  // namespace titan::conformance
