/// Fuzzes the reader of shared objects, and what it hands on: every view must lie inside the file.
#include <cstdlib>
#include <span>
#include <string_view>

#include "fuzz/expect_error.h"
#include "plugins/elf_file.h"
#include "plugins/note_bytes.h"

namespace {

/// Reads every byte, so that the sanitizer sees a view that points elsewhere.
void touch(std::string_view text) {
  unsigned sum = 0;
  for (const char byte : text) sum += static_cast<unsigned char>(byte);
  volatile unsigned sink = sum;
  (void)sink;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const titan::plugins::ElfFile file =
      titan::plugins::parse_elf(std::as_bytes(std::span(data, size)));
  if ((file.problem == titan::plugins::ElfProblem::kNone) != file.problem_text.empty())
    std::abort();
  touch(file.soname);
  touch(file.runpath);
  for (const auto name : file.needed) touch(name);
  for (const auto& symbol : file.defined) touch(symbol.name);
  for (const auto& symbol : file.undefined) touch(symbol.name);
  for (const auto& need : file.version_needs) touch(need.library), touch(need.version);
  for (const auto name : file.version_definitions) touch(name);
  const titan::plugins::NoteBytes note = titan::plugins::find_note(file);
  if (note.found && note.problem.empty()) touch(note.json);
  return 0;
}
