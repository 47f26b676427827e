/// Tests that train: checkpoint, recompute, determinism, trainable.
#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <span>
#include <sstream>

#include "base/child_call.h"
#include "base/error.h"
#include "base/sha256.h"
#include "conformance/progress_note.h"
#include "conformance/tests.h"
#include "conformance/training_run.h"
#include "conformance/trial_model.h"

namespace titan::conformance {
namespace {

constexpr int64_t kSteps = 3;

/// "name digest" of every tensor, one a line.
std::string digest_lines(const std::map<std::string, at::Tensor>& record) {
  std::string text;
  for (const auto& [name, tensor] : record) {
    const at::Tensor plain = tensor.contiguous();
    const std::span bytes(static_cast<const std::byte*>(plain.const_data_ptr()), plain.nbytes());
    text += name + " " + sha256_hex(bytes) + "\n";
  }
  return text;
}

std::string first_other_line(const std::string& a, const std::string& b) {
  std::istringstream one(a), other(b);
  for (std::string line, twin; std::getline(one, line);)
    if (!std::getline(other, twin) || line != twin)
      return "'" + line.substr(0, line.rfind(' ')) + "'";
  return a == b ? "" : "what is there";
}

/// One run in a process of its own.
std::string run_elsewhere(const Subject& subject) {
  const ChildOutcome outcome = call_in_child(
      [&]() -> std::string {
        try {
          TrainingRun run(subject, registry_of(subject), {.micro_batches = 2});
          run.step(kSteps);
          return digest_lines(run.record());
        } catch (const Error& error) {
          return std::string("error: ") + error.what();
        }
      },
      subject.limit / 3);
  return outcome.answered() ? outcome.answer : "error: the run " + outcome.how();
}

}  // namespace

void test_checkpoint(const Subject& subject, Findings& findings) {
  const converters::Registry registry = registry_of(subject);
  set_progress_note("three steps");
  TrainingRun straight(subject, registry, {});
  straight.step(3);
  set_progress_note("two steps and a save");
  const std::filesystem::path folder = subject.scratch / ("saved-" + subject.converter.name);
  {
    TrainingRun saved(subject, registry, {});
    saved.step(2);
    saved.save(folder);
  }
  set_progress_note("the third step after a load");
  TrainingRun resumed(subject, registry, {.resume_from = folder});
  resumed.step(1);
  set_progress_note("");
  std::map<std::string, at::Tensor> expected = straight.record();
  for (const char* earlier :
       {"loss of step 1", "loss of step 2", "gradient norm of step 1", "gradient norm of step 2"})
    expected.erase(earlier);
  if (const std::string different = difference(expected, resumed.record()); !different.empty())
    findings.fail(
        "a step after save and load is not the step of the run that went on: " + different,
        "keep what a later step depends on in parameters and buffers, not in the instance; reset "
        "caches in drop()");
  findings.pass("3 steps are 2 steps, a save, a load and 1 step, in " +
                std::to_string(expected.size()) + " tensors, bit for bit");
}

void test_recompute(const Subject& subject, Findings& findings) {
  const converters::Registry registry = registry_of(subject);
  set_progress_note("without activation checkpointing");
  TrainingRun plain(subject, registry, {.micro_batches = 2});
  plain.step(kSteps);
  set_progress_note("with activation_checkpoint.mode full");
  TrainingRun twice(subject, registry, {.activation_checkpoint = "full", .micro_batches = 2});
  twice.step(kSteps);
  set_progress_note("");
  if (const std::string different = difference(plain.record(), twice.record()); !different.empty())
    findings.fail(
        "with every block's forward run a second time in backward the run is another one: " +
            different,
        "change state only where TITAN_CALL_TRAINING is set and TITAN_CALL_RECOMPUTE is not; draw "
        "random numbers from torch only");
  findings.pass(std::to_string(kSteps) +
                " steps of two micro-batches, every block twice: the same bits");
}

void test_determinism(const Subject& subject, Findings& findings) {
  // Before this process loads the plugin: both children then begin with nothing.
  const std::string first = run_elsewhere(subject), second = run_elsewhere(subject);
  if (first.rfind("error: ", 0) == 0) return findings.fail(first.substr(7), "see the test run");
  if (const std::string other = first_other_line(first, second); !other.empty())
    findings.fail("two processes with one seed get different values of " + other,
                  "take random numbers from torch or from (seed, step, name), and let no address "
                  "or time decide an order of sums");
  const converters::Registry registry = registry_of(subject);
  TrainingRun one(subject, registry, {.micro_batches = 2}),
      again(subject, registry, {.micro_batches = 2});
  one.step(kSteps);
  again.step(kSteps);
  if (const std::string different = difference(one.record(), again.record()); !different.empty())
    findings.fail("two runs of one seed in one process differ: " + different,
                  "keep state in the instance that create() makes, not in static variables");
  findings.pass("four runs of " + std::to_string(kSteps) +
                " steps, two of them in processes of their own: the same bits");
}

void test_trainable(const Subject& subject, Findings& findings) {
  {
    TrialModel model(registry_of(subject), {subject.request()}, {.seed = subject.seed});
    model.loss(0).backward();
    int64_t trainable = 0;
    for (const auto& named : model::named_parameters(model.root())) {
      const at::Tensor& tensor = named.parameter->tensor;
      if (!tensor.requires_grad()) continue;
      ++trainable;
      const at::NoGradGuard no_grad;
      const at::Tensor& grad = tensor.grad();
      if (!grad.defined())
        findings.fail("parameter '" + named.fqn + "' gets no gradient: it would never be trained",
                      "set a gradient for every argument for which call_needs_grad says yes, use "
                      "it in forward, or freeze it");
      else if (!at::isfinite(grad).all().item<bool>())
        findings.fail("the gradient of '" + named.fqn + "' is not finite",
                      "look at divisions and roots in backward");
      else if (!grad.ne(0).any().item<bool>())
        findings.warn(
            "the gradient of '" + named.fqn + "' is zero in every element",
            "make sure that forward depends on it, and that backward computes the gradient");
    }
    if (trainable == 0) findings.fail("nothing is left to train", "freeze less, or add parameters");
    findings.pass(std::to_string(trainable) + " trainable parameters, each with a gradient");
  }
  // The trainer stops a run for it; it must be content, too.
  TrainingRun run(subject, registry_of(subject), {});
  run.step(1);
}

}  // namespace titan::conformance
