/// Results as lines for people and as JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "conformance/runner.h"

namespace titan::conformance {

/// One line for a result, more where something is wrong. Ends in a newline. What was skipped for
/// the reason of `above`, the result before it, says only that.
std::string result_text(const TestResult& result, const TestResult* above, bool color);
/// "24 passed, 1 failed: gradients" and how to run the failed ones alone. Ends in a newline.
std::string summary_text(const std::vector<TestResult>& results, const Subject& file);
/// One object: seed, file, sha256, plugin, version, tests. Ends in a newline.
std::string report_json(const std::vector<TestResult>& results, const Subject& file);
/// Every test with what it checks, for --list. Ends in a newline.
std::string list_text();

}  // namespace titan::conformance
