/// Walks note areas: 12 bytes of header, name and content, each padded to the area's alignment.
#include "plugins/note_bytes.h"

#include <cstring>

namespace titan::plugins {
namespace {

constexpr uint32_t kTitanNoteType = 1;
constexpr char kTitanNoteName[] = "titan";  // with its NUL: 6 bytes

uint32_t note_word(std::span<const std::byte> bytes, uint64_t at) {
  uint32_t value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

/// Adds the titan notes of one area to `found`; a second one is a problem.
void walk_notes(const ElfNoteArea& area, NoteBytes& found) {
  const uint64_t align = area.align == 8 ? 8 : 4;
  const auto pad = [align](uint64_t n) { return (n + align - 1) / align * align; };
  const uint64_t size = area.bytes.size();
  for (uint64_t at = 0; at < size && size - at >= 12;) {
    const uint64_t name_size = note_word(area.bytes, at), desc_size = note_word(area.bytes, at + 4);
    const uint32_t type = note_word(area.bytes, at + 8);
    const uint64_t desc = at + pad(12 + name_size);
    const bool ours = name_size == sizeof(kTitanNoteName) && type == kTitanNoteType &&
                      size - at - 12 >= name_size &&
                      std::memcmp(area.bytes.data() + at + 12, kTitanNoteName, name_size) == 0;
    const bool fits = desc <= size && desc_size <= size - desc;
    if (ours) {
      if (found.found) {
        found.problem = "the file has two titan notes; use TITAN_NOTE once";
        return;
      }
      found.found = true;
      if (desc_size > kMaxNoteBytes)
        found.problem = "the note says that it has " + std::to_string(desc_size) +
                        " bytes; at most 65536 are allowed";
      else if (!fits)
        found.problem = "the note says that it has " + std::to_string(desc_size) +
                        " bytes, but its segment ends earlier";
      else
        found.json = {reinterpret_cast<const char*>(area.bytes.data()) + desc, desc_size};
    }
    if (!fits) return;  // without a true size there is no next note
    at = desc + pad(desc_size);
  }
}

}  // namespace

NoteBytes find_note(const ElfFile& file) {
  NoteBytes found;
  for (const ElfNoteArea& area : file.notes)
    if (area.section.empty()) walk_notes(area, found);
  if (found.found) return found;
  // A linker that does not make a segment of the section leaves it readable by name.
  for (const ElfNoteArea& area : file.notes)
    if (!area.section.empty()) {
      walk_notes(area, found);
      if (!found.found && !area.bytes.empty()) {
        found.found = true;
        found.problem = "section .note.titan holds no titan note";
      }
    }
  return found;
}

}  // namespace titan::plugins
