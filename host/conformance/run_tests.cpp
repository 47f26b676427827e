/// Plain life of a converter: run, mixed-precision, instances.
#include <ATen/Functions.h>

#include <cmath>

#include "base/error.h"
#include "base/numbers.h"
#include "conformance/probe.h"
#include "conformance/tests.h"
#include "conformance/training_run.h"
#include "conformance/trial_model.h"

namespace titan::conformance {

void test_run(const Subject& subject, Findings& findings) {
  for (const std::string& name : subject.missing_options())
    findings.fail("option '" + name + "' has no default, so the converter cannot be created",
                  "give --option " + name + "=VALUE, or \"validate_with\" in the note");
  if (findings.failed()) return;
  const converters::Registry registry = registry_of(subject);
  reset_probe();
  try {
    TrialModel model(registry, {subject.request()}, {.seed = subject.seed});
    TrialPass pass;
    for (int64_t i = 0; i < 3; ++i) pass = model.train_step(i);
    if (!std::isfinite(pass.loss))
      findings.fail(
          "after three steps the loss is not finite",
          "look at the outputs and gradients with titan train and training.on_nonfinite: stop");
    const std::string summary = model.converters().summary().front();
    findings.pass("loss " + fixed_point(pass.loss, 4) + " after 3 steps; " + summary);
  } catch (const Error& error) {
    const bool unsupported = error.status() == ExitStatus::kUsage &&
                             probe_record().said_status == TITAN_UNSUPPORTED &&
                             std::string(error.what()).rfind("create: ", 0) == 0;
    if (!unsupported) throw;
    findings.skip("not on this device: " + std::string(error.what()) + "; " + error.hint());
  }
}

void test_mixed_precision(const Subject& subject, Findings& findings) {
  const converters::Registry registry = registry_of(subject);
  for (const char* parameters : {"float32", "bfloat16"}) {
    const std::string what = std::string("parameters in ") + parameters + ", products in bfloat16";
    reset_probe();
    try {
      TrainingRun run(subject, registry,
                      {.parameter_type = parameters, .compute_type = "bfloat16"});
      run.step(2);
      findings.pass("parameters in float32 and in bfloat16");
    } catch (const Error& error) {
      if (!probe_record().plugin_said) throw;
      if (error.status() != ExitStatus::kUsage)
        findings.warn(
            "refuses only while it runs (" + what + "): " + error.what(),
            "read the parameters' type in convert() and refuse there: nothing is lost then");
      else
        findings.warn("refuses (" + what + "): " + error.what(),
                      "titan trains this way by default; say so in the documentation");
    }
  }
}

void test_instances(const Subject& subject, Findings& findings) {
  const converters::Registry registry = registry_of(subject);
  config::ConverterRequest both = subject.request(), first = both, second = both;
  both.include = {"layers.0", "layers.1"};
  first.instance = "first";
  first.include = {"layers.0"};
  second.instance = "second";
  second.include = {"layers.1"};
  const TrialOptions options{.shake_added = false, .seed = subject.seed};
  TrialPass one;
  bool added = false;
  try {
    TrialModel model(registry, {both}, options);
    one = model.pass();
    for (const auto& [name, tensor] : copy_of_state(model.root()))
      added = added || name.find('/') != std::string::npos;
  } catch (const Error& error) {
    if (error.status() != ExitStatus::kUsage) throw;
    return findings.skip("it works on nothing inside the blocks: " + std::string(error.what()));
  }
  TrialModel model(registry, {first, second}, options);
  const TrialPass two = model.pass();
  for (int64_t i = 0; i < 2; ++i) model.train_step(i);
  // What is added begins with values that depend on the instance's name.
  if (added) return findings.pass("two instances train together");
  if (const std::string different = difference(one, two); !different.empty())
    findings.fail(
        "one instance on both blocks and one on each do not compute the same: " + different,
        "keep the state of an instance in the object that create() makes, not in global variables");
  findings.pass("two instances compute what one does");
}

}  // namespace titan::conformance
