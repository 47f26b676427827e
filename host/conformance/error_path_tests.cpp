/// The test error-paths: every host function that the plugin calls fails once.
#include <chrono>
#include <optional>

#include "base/child_call.h"
#include "base/error.h"
#include "conformance/probe.h"
#include "conformance/progress_note.h"
#include "conformance/tests.h"
#include "conformance/trial_model.h"

namespace titan::conformance {
namespace {

using Clock = std::chrono::steady_clock;
constexpr const char* kMend =
    "look at the status of every host function, and return it (the C++ layer of the SDK does); set "
    "outputs only when all went well";

/// One short life: its results, or the error that ended it.
struct Attempt {
  TrialPass pass;
  std::map<std::string, at::Tensor> state;
  std::optional<Error> error;
};

Attempt attempt_life(const converters::Registry& registry,
                     const config::ConverterRequest& request) {
  Attempt attempt;
  try {
    TrialModel model(registry, {request}, {.n_layers = 1});
    attempt.pass = model.train_step(0);
    attempt.state = copy_of_state(model.root());
  } catch (const Error& error) {
    attempt.error = error;
  }
  return attempt;
}

/// What is wrong with an error that an injected failure led to; empty: the plugin reported it.
std::string problem_of_report(const Error& error, const ProbeRecord& record) {
  const std::string text = error.what();
  if (text.find("without saying why") != std::string::npos)
    return "the plugin failed without a text";
  if (text.rfind("an exception ", 0) == 0) return text;
  if (text.find(kInjectedText) != std::string::npos || record.plugin_said) return {};
  return "the plugin reported success, and the host found: " + text;
}

/// In a process of its own, because registration runs once in a process. Empty: well done; "none":
/// the plugin makes no call of that number.
std::string registration_problem(const Subject& subject, int64_t number) {
  const ChildOutcome outcome = call_in_child(
      [&]() -> std::string {
        fail_call(number);
        try {
          load_subject(subject);
          return probe_record().injected.empty() ? "none" : "register_converters reported success";
        } catch (const Error& error) {
          return problem_of_report(error, probe_record());
        }
      },
      subject.limit / 4);
  return outcome.answered() ? outcome.answer : "register_converters " + outcome.how();
}

}  // namespace

void test_error_paths(const Subject& subject, Findings& findings) {
  // Before this process loads the plugin itself.
  int64_t registrations = 0;
  constexpr int64_t kMostRegistrations = 40;
  for (int64_t number = 1; number <= kMostRegistrations; ++number) {
    const std::string problem = registration_problem(subject, number);
    if (problem == "none") break;
    if (!problem.empty())
      findings.fail("call " + std::to_string(number) +
                        " of a host function in register_converters failed: " + problem,
                    kMend);
    ++registrations;
  }

  const converters::Registry registry = registry_of(subject);
  const config::ConverterRequest request = subject.request();
  attempt_life(registry, request);  // what is slow only once is over then
  fail_call(0);
  const auto begin = Clock::now();
  const Attempt sound = attempt_life(registry, request);
  if (sound.error) throw Error(*sound.error);
  const auto one = Clock::now() - begin;
  const int64_t calls = probe_record().calls;
  // As many as fit into half of the time; spread evenly if not all do.
  const int64_t affordable =
      std::max<int64_t>(1, (subject.limit / 2) / std::max(one, Clock::duration(1)));
  const int64_t stride = (calls + affordable - 1) / affordable;
  int64_t tried = 0;
  for (int64_t number = 1; number <= calls && !findings.failed(); number += stride, ++tried) {
    fail_call(number);
    const Attempt attempt = attempt_life(registry, request);
    const ProbeRecord record = probe_record();
    const std::string what =
        "host call " + std::to_string(number) + ", " + record.injected + ", failed: ";
    if (record.injected.empty()) {
      findings.fail("two equal lives make different numbers of host calls (" +
                        std::to_string(calls) + ", then fewer than " + std::to_string(number) + ")",
                    "let nothing but options, model and step decide what is called");
    } else if (attempt.error) {
      if (const std::string problem = problem_of_report(*attempt.error, record); !problem.empty())
        findings.fail(what + problem, kMend);
    } else {
      std::string different = difference(sound.pass, attempt.pass);
      if (different.empty()) different = difference(sound.state, attempt.state);
      if (!different.empty())
        findings.fail(
            what + "the plugin reported success, but the result is another one: " + different,
            kMend);
    }
  }
  set_progress_note("");
  findings.pass(std::to_string(registrations) + " calls of registration and " +
                std::to_string(tried) + " of " + std::to_string(calls) +
                " later ones failed, each well handled");
}

}  // namespace titan::conformance
