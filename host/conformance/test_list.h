/// Every test of titan-plugin-validate, in the order in which they run.
#pragma once

#include <string>
#include <vector>

#include "base/child_call.h"
#include "conformance/findings.h"
#include "conformance/subject.h"

namespace titan::conformance {

struct Test {
  enum class About { kFile, kConverter };
  const char* name;   ///< for --only: lower case and dashes
  const char* about;  ///< what a pass says, one line
  const char* rule;   ///< "T-26": where docs/rules.md has one; else ""
  About scope;
  void (*run)(const Subject& subject, Findings& findings);
  AfterAnswer after = AfterAnswer::kLeave;
};

const std::vector<Test>& all_tests();

/// The tests named in `only` (all if it is empty), in the list's order. A usage error with the
/// nearest names if one of them does not exist.
std::vector<Test> choose_tests(const std::vector<std::string>& only);

}  // namespace titan::conformance
