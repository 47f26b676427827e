/// Fuzzes the plugin note: a problem always comes with a rule, a clean note with a name.
#include <cstdlib>

#include "fuzz/expect_error.h"
#include "plugins/note.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const titan::plugins::ParsedNote note =
      titan::plugins::parse_note(titan::fuzz::text_of(data, size), 1);
  if (note.problem.empty() && note.description.name.empty()) std::abort();
  if (!note.problem.empty() && note.rule == titan::plugins::Rule::kNone) std::abort();
  return 0;
}
