#include "conformance/runner.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <exception>

#include "base/child_call.h"
#include "base/error.h"
#include "base/printable.h"
#include "conformance/progress_note.h"
#include "conformance/tests.h"

namespace titan::conformance {
namespace {

using Clock = std::chrono::steady_clock;

/// Without the place where that is the plugin under test: everything here is about it.
std::string with_place(const Error& error, const Subject& subject) {
  std::string text = error.what();
  const bool known = error.where().find(subject.judged.path.string()) != std::string::npos;
  if (!error.where().empty() && !known) text += " (" + error.where() + ")";
  return text;
}

/// In the test's process. Everything that is thrown becomes a finding.
std::string run_here(const Test& test, const Subject& subject) {
  Findings findings;
  const auto noted = [] {
    return progress_note().empty() ? std::string() : progress_note() + ": ";
  };
  try {
    test.run(subject, findings);
    if (findings.all().empty()) findings.pass(test.about);
  } catch (const Error& error) {
    findings.fail(noted() + with_place(error, subject), error.hint());
  } catch (const c10::Error& error) {
    findings.fail(noted() + error.what_without_backtrace(),
                  "torch refused what the plugin gave it: check shapes, types and devices");
  } catch (const std::exception& error) {
    findings.fail(noted() + error.what(), "report it to titan if the plugin had no part in it");
  }
  return findings.encode();
}

/// The last lines that say something about an end that nobody wanted.
std::string last_words(const std::string& output) {
  constexpr size_t kMost = 400;
  std::string text = output.substr(output.size() > kMost ? output.size() - kMost : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? "" : "; it had printed: " + printable(text, kMost);
}

std::string fix_for(const ChildOutcome& outcome) {
  switch (outcome.end) {
    case ChildOutcome::End::kSignal:
      return "run it under a debugger: gdb --args titan-plugin-validate FILE.so --only TEST, with "
             "set detach-on-fork off";
    case ChildOutcome::End::kTimeout:
      return "find what waits or never ends, or give it more time with --time-limit";
    case ChildOutcome::End::kExited:
      return "a plugin returns a status; it never ends the process or its thread";
    case ChildOutcome::End::kNotStarted: return "free memory or process slots and run it again";
    case ChildOutcome::End::kAnswered: return {};
  }
  return {};
}

TestResult skipped_test(const Test& test, const Subject& subject, const std::string& reason) {
  TestResult result{&test, test.scope == Test::About::kFile ? "" : subject.converter.name, {}, {}};
  result.findings.skip(reason);
  return result;
}

constexpr const char* kBroken = "a converter fails in plain use: see --only run";

/// A converter of the file, and why its tests would be in vain; empty: they are not.
struct Candidate {
  Subject subject;
  std::string obstacle;
  bool broken = false;  ///< the obstacle is that its test `run` fails
};

}  // namespace

TestResult run_test(const Test& test, const Subject& subject) {
  TestResult result{&test, test.scope == Test::About::kFile ? "" : subject.converter.name, {}, {}};
  set_progress_note("");
  const auto begin = Clock::now();
  const ChildOutcome outcome =
      call_in_child([&] { return run_here(test, subject); }, subject.limit, test.after);
  result.time = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
  if (outcome.answered()) {
    result.findings = Findings::decode(outcome.answer);
  } else {
    const std::string doing = progress_note();
    const std::string how =
        outcome.end == ChildOutcome::End::kExited
            ? "ended with status " + std::to_string(outcome.number) + " before the test was over"
            : outcome.how();
    result.findings.fail("the test's process " + how + (doing.empty() ? "" : " while: " + doing) +
                             last_words(outcome.output),
                         fix_for(outcome));
  }
  return result;
}

namespace {

Candidate candidate_for(
    const Subject& file, const config::ConverterSchema& converter,
    const std::map<std::string, std::map<std::string, config::OptionValue>>& given,
    const Test& run) {
  Candidate candidate{file, {}, false};
  Subject& subject = candidate.subject;
  subject.converter = converter;
  const auto& all_claims = file.judged.description->claims;
  if (const auto claims = all_claims.find(converter.name); claims != all_claims.end())
    subject.claims = claims->second;
  if (const auto values = given.find(converter.name); values != given.end())
    subject.given = values->second;
  const TestResult first = run_test(run, subject);
  candidate.broken = first.findings.failed();
  if (first.findings.verdict() == Verdict::kSkip)
    candidate.obstacle = first.findings.deciding().front().text;
  if (candidate.broken) candidate.obstacle = kBroken;
  return candidate;
}

}  // namespace

std::vector<TestResult> run_tests(
    const std::vector<Test>& tests, const Subject& file,
    const std::map<std::string, std::map<std::string, config::OptionValue>>& given,
    const std::function<void(const TestResult&)>& done) {
  std::vector<TestResult> results;
  const auto add = [&](TestResult result) {
    results.push_back(std::move(result));
    done(results.back());
  };
  const auto of = [](const char* name) -> const Test& {
    const auto& all = all_tests();
    return *std::find_if(all.begin(), all.end(),
                         [&](const Test& test) { return std::string_view(test.name) == name; });
  };

  // What all others need, asked once, also where its own test was not chosen.
  const bool loadable = file.judged.verdict.outcome == plugins::Outcome::kLoadable;
  const bool loads = loadable && !run_test(of("load"), file).findings.failed();
  const std::string no_load = "the file cannot be loaded: see --only file,load";
  std::vector<Candidate> candidates;
  bool all_sound = loads;
  if (file.judged.description)
    for (const config::ConverterSchema& converter : file.judged.description->converters) {
      candidates.push_back(loads ? candidate_for(file, converter, given, of("run"))
                                 : Candidate{file, no_load, false});
      candidates.back().subject.converter = converter;
      all_sound = all_sound && !candidates.back().broken;
    }

  // What everything hangs on is told whatever was chosen.
  const auto chosen = [&](const char* name) {
    return std::any_of(tests.begin(), tests.end(),
                       [&](const Test& test) { return std::string_view(test.name) == name; });
  };
  if (!loadable && !chosen("file")) add(run_test(of("file"), file));
  if (loadable && !loads && !chosen("load")) add(run_test(of("load"), file));
  for (const Test& test : tests) {
    if (test.scope != Test::About::kFile) continue;
    const bool lives = test.run == test_older_host || test.run == test_later_host;
    if ((test.run == test_load && !loadable) || (lives && !loads))
      add(skipped_test(test, file, no_load));
    else if (test.run == test_older_host && !all_sound)
      add(skipped_test(test, file, kBroken));
    else
      add(run_test(test, file));
  }
  if (candidates.empty())
    candidates.push_back(
        {file, loads ? "the file has no note: its converters are unknown until it is run" : no_load,
         false});
  for (const Candidate& candidate : candidates)
    for (const Test& test : tests) {
      if (test.scope != Test::About::kConverter) continue;
      const bool in_vain =
          !candidate.obstacle.empty() && !(candidate.broken && test.run == test_run);
      add(in_vain ? skipped_test(test, candidate.subject, candidate.obstacle)
                  : run_test(test, candidate.subject));
    }
  return results;
}

}  // namespace titan::conformance
