/// The test process-state.
#include <ATen/Parallel.h>

#include "conformance/process_facts.h"
#include "conformance/progress_note.h"
#include "conformance/tests.h"
#include "conformance/trial_model.h"

namespace titan::conformance {

void test_process_state(const Subject& subject, Findings& findings) {
  at::set_num_threads(1);
  // What torch itself does once, it does here.
  converters::Registry nothing;
  nothing.freeze();
  const TrialOptions options{.n_layers = 1, .seed = subject.seed};
  TrialModel(nothing, {}, options).train_step(0);

  ProcessFacts before = ProcessFacts::now(true);
  const auto check = [&](const std::string& stage, bool random) {
    const ProcessFacts after = ProcessFacts::now(random);
    if (const std::string changed = before.difference(after); !changed.empty())
      findings.fail(stage + " changes " + changed,
                    "put back what is changed before the function returns; start no thread and "
                    "keep no file open");
    before = ProcessFacts::now(true);
  };
  set_progress_note("while the file is loaded");
  const converters::Registry registry = registry_of(subject);
  check("loading and register_converters", true);
  set_progress_note("in create, convert, after_init and the first hook");
  TrialModel model(registry, {subject.request()}, options);
  check("create, convert or after_init", true);
  // Modules may draw random numbers; nothing else may.
  set_progress_note("in forward or backward");
  model.pass();
  check("forward or backward", false);
  set_progress_note("in the hook");
  model.hook();
  check("the hook", true);
  set_progress_note("in destroy");
  model.destroy();
  check("destroy", true);
  set_progress_note("");
  findings.pass(std::to_string(before.facts.size()) +
                " settings of the process are as they were after each stage");
}

}  // namespace titan::conformance
