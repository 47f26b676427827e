/// What the dynamic loader would see in an ELF file, read from bytes without ever leaving them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace titan::plugins {

/// Why a file is not a 64-bit little-endian shared object that could be loaded here.
enum class ElfProblem {
  kNone,
  kNotElf,
  kOtherClass,       ///< 32-bit
  kOtherEndian,      ///< big-endian
  kOtherMachine,     ///< another processor
  kNotSharedObject,  ///< a program, an object file, a core dump
  kCut,              ///< headers or a segment end beyond the end of the file
  kMalformed,        ///< headers contradict each other
};

struct ElfSymbol {
  std::string_view name;
  bool weak = false;
};

/// "libc.so.6 must have GLIBC_2.34".
struct ElfVersionNeed {
  std::string_view library;
  std::string_view version;
  bool weak = false;
};

/// An area of notes: a PT_NOTE segment, or a section of type SHT_NOTE or named .note.titan.
struct ElfNoteArea {
  std::span<const std::byte> bytes;
  uint64_t align = 4;
  std::string_view section;  ///< empty for a segment
};

/// All views point into the bytes given to parse_elf. Fields behind a problem are left empty.
struct ElfFile {
  ElfProblem problem = ElfProblem::kNone;
  std::string problem_text;  ///< "segment 2 ends at byte 1310720, but the file has 1025928"

  uint16_t machine = 0;
  uint16_t type = 0;
  bool has_interpreter = false;
  bool executable_stack = false;  ///< PT_GNU_STACK is executable, or missing (which means the same)
  bool stack_header_missing = false;
  bool text_relocations = false;
  bool writable_code = false;  ///< a segment that is writable and executable
  bool static_tls = false;

  std::string_view soname;
  std::string_view runpath;  ///< DT_RUNPATH, or DT_RPATH
  std::vector<std::string_view> needed;
  std::vector<ElfSymbol> defined;    ///< dynamic symbols that others can bind to
  std::vector<ElfSymbol> undefined;  ///< dynamic symbols that this file needs
  std::vector<ElfVersionNeed> version_needs;
  std::vector<std::string_view> version_definitions;
  std::vector<ElfNoteArea> notes;

  bool defines(std::string_view name) const;
};

/// Never throws for bad input (only bad_alloc), never reads outside `bytes`.
ElfFile parse_elf(std::span<const std::byte> bytes);

/// "x86-64", "AArch64", "machine 243".
std::string machine_name(uint16_t machine);
/// e_machine of the running program.
uint16_t this_machine();

}  // namespace titan::plugins
