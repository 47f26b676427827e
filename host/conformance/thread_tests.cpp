/// The test threads.
#include <exception>
#include <functional>
#include <thread>

#include "base/error.h"
#include "conformance/progress_note.h"
#include "conformance/tests.h"
#include "conformance/trial_model.h"

namespace titan::conformance {
namespace {

constexpr int64_t kPasses = 8;

/// Runs `work` on another thread and waits; what it throws is thrown here.
void on_another_thread(const std::function<void()>& work) {
  std::exception_ptr thrown;
  std::thread([&] {
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
  }).join();
  if (thrown) std::rethrow_exception(thrown);
}

std::vector<TrialPass> passes_of(TrialModel& model) {
  std::vector<TrialPass> passes;
  for (int64_t i = 0; i < kPasses; ++i) passes.push_back(model.train_step(i));
  return passes;
}

std::string first_difference(const std::vector<TrialPass>& a, const std::vector<TrialPass>& b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (const std::string different = difference(a[i], b[i]); !different.empty())
      return "in step " + std::to_string(i + 1) + " " + different;
  return {};
}

}  // namespace

void test_threads(const Subject& subject, Findings& findings) {
  const converters::Registry registry = registry_of(subject);
  const config::ConverterRequest request = subject.request();
  const TrialOptions options{.seed = subject.seed}, other_options{.seed = subject.seed + 1};

  set_progress_note("backward on another thread than forward");
  TrialModel model(registry, {request}, options), twin(registry, {request}, options);
  const TrialPass here = model.pass();
  at::Tensor logits;
  const at::Tensor loss = twin.loss(0, &logits);
  on_another_thread([&] { loss.backward(); });
  TrialPass there = twin.take_gradients();
  there.logits = logits;
  there.loss = here.loss;
  if (const std::string different = difference(here, there); !different.empty())
    findings.fail(
        "backward on another thread than forward gives other numbers: " + different,
        "keep nothing in thread_local variables; what backward needs goes through call_save");

  set_progress_note(
      "two models, each with a converter of its own, at the same time on two threads");
  std::vector<TrialPass> alone[2], together[2];
  {
    TrialModel a(registry, {request}, options), b(registry, {request}, other_options);
    alone[0] = passes_of(a);
    alone[1] = passes_of(b);
  }
  TrialModel a(registry, {request}, options), b(registry, {request}, other_options);
  {
    std::exception_ptr thrown;
    std::thread second([&] {
      try {
        together[1] = passes_of(b);
      } catch (...) {
        thrown = std::current_exception();
      }
    });
    try {
      together[0] = passes_of(a);
    } catch (...) {
      second.join();
      throw;
    }
    second.join();
    if (thrown) std::rethrow_exception(thrown);
  }
  for (int i = 0; i < 2; ++i)
    if (const std::string different = first_difference(alone[i], together[i]); !different.empty())
      findings.fail(
          "two models at the same time do not compute what they compute alone: " + different,
          "keep scratch memory and state in the instance or the module's code, not in static "
          "variables");

  set_progress_note("the model is destroyed on another thread");
  on_another_thread([&] { a.release_root().reset(); });
  a.destroy();
  auto left = b.release_root();
  b.destroy();
  on_another_thread([&] { left.reset(); });
  set_progress_note("");
  findings.pass("backward elsewhere, " + std::to_string(kPasses) +
                " steps of two models at once, destroyed elsewhere: the same bits");
}

}  // namespace titan::conformance
