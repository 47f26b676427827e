#include "conformance/test_list.h"

#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"
#include "conformance/tests.h"

namespace titan::conformance {

const std::vector<Test>& all_tests() {
  constexpr auto kFile = Test::About::kFile;
  constexpr auto kConverter = Test::About::kConverter;
  static const std::vector<Test> tests = {
      {"file", "the file can be loaded here, and nobody else can replace it", "T-33", kFile,
       test_file},
      {"note", "the note says who made it, and explains every option", "T-17", kFile, test_note},
      {"exports", "register_converters is all it exports; no search path of one machine", "T-1",
       kFile, test_exports},
      {"load", "a fresh process loads it, and it registers what its note lists", "T-32", kFile,
       test_load},
      {"older-host",
       "against a host of level 1 without extensions it works, or refuses with a text", "T-11",
       kFile, test_older_host},
      {"later-host", "against a host with more functions it works as before", "T-7", kFile,
       test_later_host},
      {"run", "creates, converts, goes forward and backward and trains three steps", "", kConverter,
       test_run},
      {"error-paths", "whichever host function fails, it fails with a text or does not need it",
       "T-26", kConverter, test_error_paths},
      {"options",
       "every option at its bounds, and random ones together, work or are refused with a text",
       "T-18", kConverter, test_options},
      {"mixed-precision",
       "trains with products and with parameters in bfloat16, or refuses with a text", "",
       kConverter, test_mixed_precision},
      {"instances", "two instances on different blocks do what one does on both", "", kConverter,
       test_instances},
      {"threads",
       "backward on another thread, two models at once and destruction elsewhere change nothing",
       "", kConverter, test_threads},
      {"lifetime",
       "every early end of an instance's life is sound; no handle is used after its end", "",
       kConverter, test_lifetime},
      {"destroy", "the process ends cleanly after a run", "T-28", kConverter, test_destroy,
       AfterAnswer::kExit},
      {"leaks", "memory, tensors, descriptors and threads do not grow", "", kConverter, test_leaks},
      {"process-state",
       "locale, float modes, folder, signals, environment and torch's settings stay", "T-28",
       kConverter, test_process_state},
      {"plan",
       "convert needs no weights, always records the same, and knows a device that is not here", "",
       kConverter, test_plan},
      {"checkpoint", "a run that was saved and resumed goes on bit for bit", "", kConverter,
       test_checkpoint},
      {"trainable", "every trainable parameter gets a finite gradient", "", kConverter,
       test_trainable},
      {"recompute", "with activations computed twice every bit is the same", "", kConverter,
       test_recompute},
      {"determinism", "two runs of one seed, in one process and in two, are equal bit for bit", "",
       kConverter, test_determinism},
      {"gradients", "gradients are those of the function that forward computes", "", kConverter,
       test_gradients},
      {"numerics", "outputs and gradients are as close to the stock model's as the note claims", "",
       kConverter, test_numerics},
      {"hook", "hooks can be called again, after a load and with frozen parameters", "", kConverter,
       test_hook},
  };
  return tests;
}

std::vector<Test> choose_tests(const std::vector<std::string>& only) {
  std::vector<std::string> names;
  for (const Test& test : all_tests()) names.emplace_back(test.name);
  for (const std::string& name : only)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw usage_error("there is no test '" + name + "'", "--only",
                        did_you_mean(name, names) + "titan-plugin-validate --list shows all");
  std::vector<Test> chosen;
  for (const Test& test : all_tests())
    if (only.empty() || std::find(only.begin(), only.end(), test.name) != only.end())
      chosen.push_back(test);
  return chosen;
}

}  // namespace titan::conformance
