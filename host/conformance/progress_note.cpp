#include "conformance/progress_note.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace titan::conformance {
namespace {

constexpr size_t kNoteBytes = 4096;

/// Shared memory: what a process that was killed has written stays. Null if there is none to get.
char* note_memory() {
  static char* const memory = [] {
    void* mapped =
        mmap(nullptr, kNoteBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return mapped == MAP_FAILED ? nullptr : static_cast<char*>(mapped);
  }();
  return memory;
}

}  // namespace

void set_progress_note(const std::string& text) {
  char* memory = note_memory();
  if (!memory) return;
  const size_t size = std::min(text.size(), kNoteBytes - 1);
  std::memcpy(memory, text.data(), size);
  memory[size] = '\0';
}

std::string progress_note() { return note_memory() ? note_memory() : ""; }

}  // namespace titan::conformance
