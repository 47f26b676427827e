/// Headers, segments and sections: every offset is checked against the file before it is used.
#include "plugins/elf_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "plugins/elf_reader.h"

namespace titan::plugins {

void ElfReader::read_ident() {
  if (bytes_.size() < EI_NIDENT || std::memcmp(bytes_.data(), ELFMAG, SELFMAG) != 0) {
    const bool cut = bytes_.size() >= SELFMAG && std::memcmp(bytes_.data(), ELFMAG, SELFMAG) == 0;
    return fail(cut ? ElfProblem::kCut : ElfProblem::kNotElf, cut ? "the ELF header is cut"
                                                              : bytes_.empty() ? "the file is empty"
                                                                               : "not an ELF file");
  }
  const auto ident = [&](size_t i) { return std::to_integer<int>(bytes_[i]); };
  // Class and byte order first: they say how to read the rest, and e_machine is at the same place
  // in both.
  const bool big = ident(EI_DATA) == ELFDATA2MSB;
  if (bytes_.size() >= 20) {
    const int low = ident(big ? 19 : 18), high = ident(big ? 18 : 19);
    file_.machine = static_cast<uint16_t>(high << 8 | low);
  }
  if (big) return fail(ElfProblem::kOtherEndian, "big-endian " + machine_name(file_.machine));
  if (ident(EI_CLASS) == ELFCLASS32)
    return fail(ElfProblem::kOtherClass, "32-bit " + machine_name(file_.machine));
  if (ident(EI_CLASS) != ELFCLASS64 || ident(EI_DATA) != ELFDATA2LSB ||
      ident(EI_VERSION) != EV_CURRENT)
    return fail(ElfProblem::kMalformed,
                "the ELF header names no known class, byte order or version");
  const auto header = at<Elf64_Ehdr>(0);
  if (!header)
    return fail(ElfProblem::kCut,
                "the ELF header is cut: the file has " + std::to_string(bytes_.size()) + " bytes");
  header_ = *header;
  file_.type = header_.e_type;
  if (file_.machine != this_machine())
    return fail(ElfProblem::kOtherMachine, machine_name(file_.machine));
  const char* other = file_.type == ET_EXEC   ? "a program"
                      : file_.type == ET_REL  ? "an object file that was not linked"
                      : file_.type == ET_CORE ? "a core dump"
                      : file_.type != ET_DYN  ? "an ELF file of unknown type"
                                              : nullptr;
  if (other) return fail(ElfProblem::kNotSharedObject, other);
  if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum == 0 ||
      header_.e_phnum == PN_XNUM)
    return fail(ElfProblem::kMalformed, "the program header table has " +
                                            std::to_string(header_.e_phnum) + " entries of " +
                                            std::to_string(header_.e_phentsize) + " bytes");
  if (!fits(header_.e_phoff, uint64_t{header_.e_phnum} * sizeof(Elf64_Phdr)))
    fail(ElfProblem::kCut,
         "the program headers end beyond the file's " + std::to_string(bytes_.size()) + " bytes");
}

void ElfReader::read_segments() {
  std::optional<Elf64_Phdr> dynamic;
  file_.executable_stack = file_.stack_header_missing = true;
  std::vector<Elf64_Phdr> segments;
  for (uint64_t i = 0; i < header_.e_phnum; ++i) {
    const auto segment = at<Elf64_Phdr>(header_.e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return fail(ElfProblem::kCut, "the program headers are cut");
    segments.push_back(*segment);
    if (segment->p_type != PT_LOAD) continue;
    if (!fits(segment->p_offset, segment->p_filesz)) {
      const uint64_t end =
          segment->p_offset + segment->p_filesz;  // may wrap: then it says nonsense
      return fail(end < segment->p_offset ? ElfProblem::kMalformed : ElfProblem::kCut,
                  "segment " + std::to_string(i) + " ends at byte " + std::to_string(end) +
                      ", but the file has " + std::to_string(bytes_.size()));
    }
    if (segment->p_memsz < segment->p_filesz ||
        segment->p_vaddr + segment->p_memsz < segment->p_vaddr)
      return fail(ElfProblem::kMalformed, "segment " + std::to_string(i) + " has impossible sizes");
    loads_.push_back(*segment);
    if ((segment->p_flags & PF_W) && (segment->p_flags & PF_X)) file_.writable_code = true;
  }
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_INTERP) file_.has_interpreter = true;
    if (segment.p_type == PT_DYNAMIC) dynamic = segment;
    if (segment.p_type == PT_GNU_STACK) {
      file_.stack_header_missing = false;
      file_.executable_stack = (segment.p_flags & PF_X) != 0;
    }
    // A note that leaves the file is kept as far as it goes; whoever reads it sees that it is cut.
    if (segment.p_type == PT_NOTE && segment.p_offset <= bytes_.size())
      file_.notes.push_back(
          {bytes_.subspan(segment.p_offset,
                          std::min<uint64_t>(segment.p_filesz, bytes_.size() - segment.p_offset)),
           segment.p_align,
           {}});
  }
  if (loads_.empty()) return fail(ElfProblem::kMalformed, "there is nothing to load in it");
  if (!dynamic) return fail(ElfProblem::kMalformed, "it has no dynamic section");
  // The loader reads the section through its address, not through p_offset.
  const auto offset = offset_of(dynamic->p_vaddr);
  if (!offset || !fits(*offset, dynamic->p_filesz))
    return fail(ElfProblem::kMalformed, "the dynamic section lies outside the loaded segments");
  read_dynamic(*offset, dynamic->p_filesz);
}

std::optional<uint64_t> ElfReader::offset_of(uint64_t address) const {
  for (const Elf64_Phdr& load : loads_)
    if (address >= load.p_vaddr && address - load.p_vaddr < load.p_filesz)
      return load.p_offset + (address - load.p_vaddr);
  return std::nullopt;
}

/// Sections are not needed for loading and may be stripped or wrong: nothing here is an error.
void ElfReader::read_sections() {
  if (header_.e_shoff == 0 || header_.e_shentsize != sizeof(Elf64_Shdr)) return;
  const auto names =
      at<Elf64_Shdr>(header_.e_shoff + uint64_t{header_.e_shstrndx} * sizeof(Elf64_Shdr));
  for (uint64_t i = 0; i < header_.e_shnum; ++i) {
    const uint64_t where = header_.e_shoff + i * sizeof(Elf64_Shdr);
    const auto section = where < header_.e_shoff ? std::nullopt : at<Elf64_Shdr>(where);
    if (!section) return;
    if (section->sh_type == SHT_DYNSYM && section->sh_addr == symtab_)
      section_symbols_ = section->sh_size / sizeof(Elf64_Sym);
    if (!names || section->sh_type == SHT_NOBITS || section->sh_offset > bytes_.size()) continue;
    const std::string_view name = string_in(names->sh_offset, names->sh_size, section->sh_name);
    if (name == ".note.titan")
      file_.notes.push_back(
          {bytes_.subspan(section->sh_offset,
                          std::min<uint64_t>(section->sh_size, bytes_.size() - section->sh_offset)),
           section->sh_addralign, name});
  }
}

ElfFile ElfReader::read() {
  read_ident();
  if (ok()) read_segments();
  if (ok()) {
    read_sections();
    read_symbols();
    read_version_needs();
    read_version_definitions();
  }
  return std::move(file_);
}

bool ElfFile::defines(std::string_view name) const {
  return std::any_of(defined.begin(), defined.end(),
                     [&](const ElfSymbol& s) { return s.name == name; });
}

ElfFile parse_elf(std::span<const std::byte> bytes) { return ElfReader(bytes).read(); }

std::string machine_name(uint16_t machine) {
  switch (machine) {
    case EM_X86_64: return "x86-64";
    case EM_386: return "x86";
    case EM_AARCH64: return "AArch64";
    case EM_ARM: return "ARM";
    case EM_PPC64: return "POWER";
    case EM_S390: return "s390";
    case EM_RISCV: return "RISC-V";
    default: return "machine " + std::to_string(machine);
  }
}

uint16_t this_machine() {
#if defined(__x86_64__)
  return EM_X86_64;
#elif defined(__aarch64__)
  return EM_AARCH64;
#elif defined(__powerpc64__)
  return EM_PPC64;
#elif defined(__riscv)
  return EM_RISCV;
#else
#error "name the e_machine of this processor"
#endif
}

}  // namespace titan::plugins
