/// Finds the one ELF note of titan among all notes of a file.
#pragma once

#include <string>
#include <string_view>

#include "plugins/elf_file.h"

namespace titan::plugins {

inline constexpr uint64_t kMaxNoteBytes = 64 * 1024;

struct NoteBytes {
  bool found = false;     ///< there is a titan note, be it whole or broken
  std::string problem;    ///< why it cannot be used; empty: `json` is its content
  std::string_view json;  ///< points into the file's bytes
};

NoteBytes find_note(const ElfFile& file);

}  // namespace titan::plugins
