/// Bounded ELF reader: every offset is checked against the file before it is used.
#include "plugins/elf_file.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace titan::plugins {
namespace {

// Bounds that keep the time for a hostile file linear; real files stay far below them.
constexpr uint64_t kMaxStringBytes = 64 * 1024;
constexpr size_t kMaxVersions = 64 * 1024;

class ElfReader {
 public:
  explicit ElfReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  ElfFile read();

 private:
  bool fits(uint64_t offset, uint64_t size) const {
    return offset <= bytes_.size() && size <= bytes_.size() - offset;
  }
  /// Copies: the file's structures need not be aligned.
  template <class T>
  std::optional<T> at(uint64_t offset) const {
    if (!fits(offset, sizeof(T))) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  void fail(ElfProblem problem, std::string text) {
    if (file_.problem != ElfProblem::kNone) return;
    file_.problem = problem;
    file_.problem_text = std::move(text);
  }
  bool ok() const { return file_.problem == ElfProblem::kNone; }

  void read_ident();
  void read_segments();
  void read_sections();
  void read_dynamic(uint64_t offset, uint64_t size);
  void read_symbols();
  void read_version_needs();
  void read_version_definitions();
  uint64_t symbol_count() const;
  uint64_t gnu_hash_count() const;
  std::optional<uint64_t> offset_of(uint64_t address) const;
  /// The NUL-terminated string at `index` of the dynamic string table; empty if there is none.
  std::string_view dynamic_string(uint64_t index) const;
  std::string_view string_in(uint64_t table, uint64_t size, uint64_t index) const;

  std::span<const std::byte> bytes_;
  ElfFile file_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> loads_;
  // Addresses from the dynamic section; 0: absent.
  uint64_t strtab_ = 0, strsz_ = 0, symtab_ = 0, hash_ = 0, gnu_hash_ = 0, verneed_ = 0, verneed_count_ = 0;
  uint64_t verdef_ = 0, verdef_count_ = 0;
  std::optional<uint64_t> strtab_offset_;
  uint64_t section_symbols_ = 0;  // entries of the section SHT_DYNSYM
};

void ElfReader::read_ident() {
  if (bytes_.size() < EI_NIDENT || std::memcmp(bytes_.data(), ELFMAG, SELFMAG) != 0) {
    const bool cut = bytes_.size() >= SELFMAG && std::memcmp(bytes_.data(), ELFMAG, SELFMAG) == 0;
    return fail(cut ? ElfProblem::kCut : ElfProblem::kNotElf,
                cut ? "the ELF header is cut" : bytes_.empty() ? "the file is empty" : "not an ELF file");
  }
  const auto ident = [&](size_t i) { return std::to_integer<int>(bytes_[i]); };
  // Class and byte order first: they say how to read the rest, and e_machine is at the same place in both.
  const bool big = ident(EI_DATA) == ELFDATA2MSB;
  if (bytes_.size() >= 20) {
    const int low = ident(big ? 19 : 18), high = ident(big ? 18 : 19);
    file_.machine = static_cast<uint16_t>(high << 8 | low);
  }
  if (big) return fail(ElfProblem::kOtherEndian, "big-endian " + machine_name(file_.machine));
  if (ident(EI_CLASS) == ELFCLASS32)
    return fail(ElfProblem::kOtherClass, "32-bit " + machine_name(file_.machine));
  if (ident(EI_CLASS) != ELFCLASS64 || ident(EI_DATA) != ELFDATA2LSB || ident(EI_VERSION) != EV_CURRENT)
    return fail(ElfProblem::kMalformed, "the ELF header names no known class, byte order or version");
  const auto header = at<Elf64_Ehdr>(0);
  if (!header) return fail(ElfProblem::kCut, "the ELF header is cut: the file has " +
                                                 std::to_string(bytes_.size()) + " bytes");
  header_ = *header;
  file_.type = header_.e_type;
  if (file_.machine != this_machine())
    return fail(ElfProblem::kOtherMachine, machine_name(file_.machine));
  const char* other = file_.type == ET_EXEC ? "a program"
                      : file_.type == ET_REL  ? "an object file that was not linked"
                      : file_.type == ET_CORE ? "a core dump"
                      : file_.type != ET_DYN  ? "an ELF file of unknown type"
                                              : nullptr;
  if (other) return fail(ElfProblem::kNotSharedObject, other);
  if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum == 0 || header_.e_phnum == PN_XNUM)
    return fail(ElfProblem::kMalformed, "the program header table has " +
                                            std::to_string(header_.e_phnum) + " entries of " +
                                            std::to_string(header_.e_phentsize) + " bytes");
  if (!fits(header_.e_phoff, uint64_t{header_.e_phnum} * sizeof(Elf64_Phdr)))
    fail(ElfProblem::kCut, "the program headers end beyond the file's " +
                               std::to_string(bytes_.size()) + " bytes");
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
      const uint64_t end = segment->p_offset + segment->p_filesz;  // may wrap: then it says nonsense
      return fail(end < segment->p_offset ? ElfProblem::kMalformed : ElfProblem::kCut,
                  "segment " + std::to_string(i) + " ends at byte " + std::to_string(end) +
                      ", but the file has " + std::to_string(bytes_.size()));
    }
    if (segment->p_memsz < segment->p_filesz || segment->p_vaddr + segment->p_memsz < segment->p_vaddr)
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
      file_.notes.push_back({bytes_.subspan(segment.p_offset, std::min<uint64_t>(
                                 segment.p_filesz, bytes_.size() - segment.p_offset)),
                             segment.p_align, {}});
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

std::string_view ElfReader::string_in(uint64_t table, uint64_t size, uint64_t index) const {
  if (index >= size || !fits(table, size)) return {};
  const char* begin = reinterpret_cast<const char*>(bytes_.data()) + table + index;
  const void* end = std::memchr(begin, 0, std::min(size - index, kMaxStringBytes));
  if (end == nullptr) return {};
  return {begin, static_cast<size_t>(static_cast<const char*>(end) - begin)};
}

std::string_view ElfReader::dynamic_string(uint64_t index) const {
  return strtab_offset_ ? string_in(*strtab_offset_, strsz_, index) : std::string_view();
}

void ElfReader::read_dynamic(uint64_t offset, uint64_t size) {
  std::vector<uint64_t> needed;
  std::optional<uint64_t> soname, runpath, rpath;
  for (uint64_t i = 0; i < size / sizeof(Elf64_Dyn); ++i) {
    const auto entry = at<Elf64_Dyn>(offset + i * sizeof(Elf64_Dyn));
    if (!entry || entry->d_tag == DT_NULL) break;
    const uint64_t value = entry->d_un.d_val;
    switch (entry->d_tag) {
      case DT_STRTAB: strtab_ = value; break;
      case DT_STRSZ: strsz_ = value; break;
      case DT_SYMTAB: symtab_ = value; break;
      case DT_HASH: hash_ = value; break;
      case DT_GNU_HASH: gnu_hash_ = value; break;
      case DT_VERNEED: verneed_ = value; break;
      case DT_VERNEEDNUM: verneed_count_ = value; break;
      case DT_VERDEF: verdef_ = value; break;
      case DT_VERDEFNUM: verdef_count_ = value; break;
      case DT_NEEDED: needed.push_back(value); break;
      case DT_SONAME: soname = value; break;
      case DT_RUNPATH: runpath = value; break;
      case DT_RPATH: rpath = value; break;
      case DT_TEXTREL: file_.text_relocations = true; break;
      case DT_FLAGS:
        if (value & DF_TEXTREL) file_.text_relocations = true;
        if (value & DF_STATIC_TLS) file_.static_tls = true;
        break;
      default: break;
    }
  }
  strtab_offset_ = offset_of(strtab_);
  if (!strtab_offset_ || !fits(*strtab_offset_, strsz_))
    return fail(ElfProblem::kMalformed, "the dynamic string table lies outside the file");
  for (const uint64_t index : needed) {
    const std::string_view name = dynamic_string(index);
    if (name.empty()) return fail(ElfProblem::kMalformed, "the name of a needed library is broken");
    file_.needed.push_back(name);
  }
  if (soname) file_.soname = dynamic_string(*soname);
  if (runpath || rpath) file_.runpath = dynamic_string(runpath ? *runpath : *rpath);
}

/// Sections are not needed for loading and may be stripped or wrong: nothing here is an error.
void ElfReader::read_sections() {
  if (header_.e_shoff == 0 || header_.e_shentsize != sizeof(Elf64_Shdr)) return;
  const auto names = at<Elf64_Shdr>(header_.e_shoff + uint64_t{header_.e_shstrndx} * sizeof(Elf64_Shdr));
  for (uint64_t i = 0; i < header_.e_shnum; ++i) {
    const uint64_t where = header_.e_shoff + i * sizeof(Elf64_Shdr);
    const auto section = where < header_.e_shoff ? std::nullopt : at<Elf64_Shdr>(where);
    if (!section) return;
    if (section->sh_type == SHT_DYNSYM && section->sh_addr == symtab_)
      section_symbols_ = section->sh_size / sizeof(Elf64_Sym);
    if (!names || section->sh_type == SHT_NOBITS || section->sh_offset > bytes_.size()) continue;
    const std::string_view name = string_in(names->sh_offset, names->sh_size, section->sh_name);
    if (name == ".note.titan")
      file_.notes.push_back({bytes_.subspan(section->sh_offset, std::min<uint64_t>(
                                 section->sh_size, bytes_.size() - section->sh_offset)),
                             section->sh_addralign, name});
  }
}

/// Symbols reached through the GNU hash table: all hashed ones and those in front of them.
uint64_t ElfReader::gnu_hash_count() const {
  const auto start = offset_of(gnu_hash_);
  if (gnu_hash_ == 0 || !start) return 0;
  const auto buckets = at<uint32_t>(*start), first = at<uint32_t>(*start + 4), bloom = at<uint32_t>(*start + 8);
  if (!buckets || !first || !bloom) return 0;
  const uint64_t bucket_at = *start + 16 + uint64_t{*bloom} * 8;
  const uint64_t chain_at = bucket_at + uint64_t{*buckets} * 4;
  if (!fits(bucket_at, uint64_t{*buckets} * 4)) return 0;
  uint64_t last = 0;
  for (uint64_t i = 0; i < *buckets; ++i) last = std::max<uint64_t>(last, *at<uint32_t>(bucket_at + 4 * i));
  if (last < *first) return *first;
  // The chain of the last bucket ends at an entry whose lowest bit is set.
  for (;; ++last) {
    const auto link = at<uint32_t>(chain_at + (last - *first) * 4);
    if (!link) return 0;
    if (*link & 1) return last + 1;
  }
}

uint64_t ElfReader::symbol_count() const {
  // Why the maximum: the GNU hash table of a file that exports nothing does not count the undefined
  // symbols, and the section headers may be gone.
  uint64_t count = std::max(gnu_hash_count(), section_symbols_);
  if (const auto start = offset_of(hash_); hash_ != 0 && start)
    if (const auto chains = at<uint32_t>(*start + 4)) count = std::max<uint64_t>(count, *chains);
  return count;
}

void ElfReader::read_symbols() {
  const auto start = offset_of(symtab_);
  if (symtab_ == 0 || !start) return;
  const uint64_t count = std::min<uint64_t>(symbol_count(), (bytes_.size() - *start) / sizeof(Elf64_Sym));
  for (uint64_t i = 1; i < count; ++i) {
    const auto symbol = at<Elf64_Sym>(*start + i * sizeof(Elf64_Sym));
    const int binding = ELF64_ST_BIND(symbol->st_info);
    if (binding == STB_LOCAL) continue;
    const std::string_view name = dynamic_string(symbol->st_name);
    if (name.empty()) continue;
    const int visibility = ELF64_ST_VISIBILITY(symbol->st_other);
    const bool visible = visibility == STV_DEFAULT || visibility == STV_PROTECTED;
    if (symbol->st_shndx == SHN_UNDEF)
      file_.undefined.push_back({name, binding == STB_WEAK});
    else if (visible)
      file_.defined.push_back({name, binding == STB_WEAK});
  }
}

void ElfReader::read_version_needs() {
  auto where = offset_of(verneed_);
  // Each step moves forward, so the loops end within the file.
  for (uint64_t i = 0; verneed_ != 0 && where && i < verneed_count_; ++i) {
    const auto need = at<Elf64_Verneed>(*where);
    if (!need) return;
    uint64_t aux_at = *where + need->vn_aux;
    for (uint64_t k = 0; k < need->vn_cnt; ++k) {
      const auto aux = at<Elf64_Vernaux>(aux_at);
      if (!aux) break;
      if (file_.version_needs.size() == kMaxVersions) return;
      file_.version_needs.push_back({dynamic_string(need->vn_file), dynamic_string(aux->vna_name),
                                     (aux->vna_flags & VER_FLG_WEAK) != 0});
      if (aux->vna_next == 0) break;
      aux_at += aux->vna_next;
    }
    if (need->vn_next == 0) return;
    *where += need->vn_next;
  }
}

void ElfReader::read_version_definitions() {
  auto where = offset_of(verdef_);
  for (uint64_t i = 0; verdef_ != 0 && where && i < verdef_count_; ++i) {
    const auto definition = at<Elf64_Verdef>(*where);
    if (!definition || i == kMaxVersions) return;
    if (const auto aux = at<Elf64_Verdaux>(*where + definition->vd_aux))
      file_.version_definitions.push_back(dynamic_string(aux->vda_name));
    if (definition->vd_next == 0) return;
    *where += definition->vd_next;
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

}  // namespace

bool ElfFile::defines(std::string_view name) const {
  return std::any_of(defined.begin(), defined.end(), [&](const ElfSymbol& s) { return s.name == name; });
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
