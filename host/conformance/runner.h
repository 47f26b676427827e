/// Runs tests, each in a process of its own.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "conformance/findings.h"
#include "conformance/subject.h"
#include "conformance/test_list.h"

namespace titan::conformance {

struct TestResult {
  const Test* test =
      nullptr;            ///< of all_tests() or of the list that was run: both outlive the result
  std::string converter;  ///< empty: about the file
  Findings findings;
  std::chrono::milliseconds time{0};
};

/// Runs one test with the subject's time limit. A crash, a hang and an exit of the process are
/// failures of the test. Never throws for what the plugin does.
TestResult run_test(const Test& test, const Subject& subject);

/// Runs `tests` on the file and then on each of its converters; `done` is told each result as it
/// comes. Once the file cannot be loaded, or a converter cannot run here, what depends on it is
/// skipped. To be called while this process has one thread and has computed nothing with torch.
std::vector<TestResult> run_tests(
    const std::vector<Test>& tests, const Subject& file,
    const std::map<std::string, std::map<std::string, config::OptionValue>>& given,
    const std::function<void(const TestResult&)>& done);

}  // namespace titan::conformance
