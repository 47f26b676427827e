/// The test hook.
#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <set>

#include "base/error.h"
#include "conformance/progress_note.h"
#include "conformance/tests.h"
#include "conformance/trial_model.h"

namespace titan::conformance {
namespace {

void require_finite(TrialModel& model, const std::string& when, Findings& findings) {
  for (const auto& [name, tensor] : copy_of_state(model.root()))
    if (at::isFloatingType(tensor.scalar_type()) && !at::isfinite(tensor).all().item<bool>())
      findings.fail("after " + when + " '" + name + "' is not finite",
                    "look at divisions in the hook; it may see a state twice");
}

std::set<std::string> added_names(TrialModel& model) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : copy_of_state(model.root()))
    if (name.find('/') != std::string::npos) names.insert(name);
  return names;
}

}  // namespace

void test_hook(const Subject& subject, Findings& findings) {
  const converters::Registry registry = registry_of(subject);
  TrialModel model(registry, {subject.request()}, {.seed = subject.seed});
  if (!model.converters().has_hooks()) return findings.skip("the converter has no hook");
  model.train_step(0);
  set_progress_note("the hook a second and third time after one step");
  model.hook();
  model.hook();
  require_finite(model, "three hooks of one step", findings);
  for (const auto& set : {std::set<std::string>(), added_names(model)}) {
    set_progress_note(set.empty() ? "after a load of everything"
                                  : "after a load without what the converter adds");
    model.converters().after_init(model.root(), converters::HookReason::kLoaded, set, nullptr,
                                  model.step);
    require_finite(model, "a load", findings);
  }
  set_progress_note("the hook with every parameter frozen");
  std::vector<at::Tensor> frozen;
  for (const auto& named : model::named_parameters(model.root()))
    if (named.parameter->tensor.requires_grad()) {
      frozen.push_back(named.parameter->tensor);
      frozen.back().set_requires_grad(false);
    }
  model.hook();
  for (const at::Tensor& tensor : frozen) tensor.set_requires_grad(true);
  require_finite(model, "a hook with frozen parameters", findings);
  set_progress_note("a step after all this");
  model.train_step(1);
  require_finite(model, "the next step", findings);
  set_progress_note("");
  findings.pass(
      "called three times after one step, after loads, with frozen parameters; the next step is "
      "sound");
}

}  // namespace titan::conformance
